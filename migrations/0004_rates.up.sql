-- Exchange rates: one unit of base buys rate units of quote. Published for every base, so that no reader divides.
CREATE TABLE rates (
    base  text        NOT NULL CONSTRAINT rates_base_is_a_code CHECK (base ~ '^[A-Z]{3}$'),
    quote text        NOT NULL CONSTRAINT rates_quote_is_a_code CHECK (quote ~ '^[A-Z]{3}$'),
    as_of timestamptz NOT NULL,
    rate  numeric     NOT NULL CONSTRAINT rates_rate_is_positive CHECK (rate > 0 AND rate < 'Infinity'),
    PRIMARY KEY (base, as_of, quote),
    CONSTRAINT rates_between_two_currencies CHECK (base <> quote)
);

-- Demo rates: what one US dollar buys, made up but plausible. The table of every base follows from it as
-- quote per dollar / base per dollar, rounded half up to six significant digits.
WITH per_dollar (code, units) AS (
    VALUES ('USD', 1.0),
           ('NGN', 1533.742),
           ('EUR', 0.857412),
           ('GBP', 0.742205),
           ('CHF', 0.797318),
           ('CAD', 1.38464),
           ('JPY', 148.235),
           ('CNY', 7.12409),
           ('INR', 88.1175),
           ('BRL', 5.33870),
           ('ZAR', 17.3526),
           ('KES', 129.238),
           ('GHS', 12.1884),
           ('EGP', 48.2391),
           ('XOF', 562.425),
           ('KWD', 0.305471)
), crossed AS (
    SELECT b.code AS base, q.code AS quote, q.units / b.units AS rate
    FROM per_dollar AS b
    JOIN per_dollar AS q ON q.code <> b.code
)
INSERT INTO rates (base, quote, as_of, rate)
SELECT base, quote, TIMESTAMPTZ '2026-09-24 00:00:00Z', trim_scale(round(rate, 5 - floor(log(rate))::integer))
FROM crossed;
