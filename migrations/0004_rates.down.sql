DROP TABLE rates;
