DROP TABLE idempotency_keys;
DROP VIEW entries;
DROP TABLE transfers;
DROP TABLE accounts;
DROP FUNCTION ledger_post();
DROP FUNCTION ledger_refuse();
