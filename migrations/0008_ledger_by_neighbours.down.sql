CREATE OR REPLACE FUNCTION ledger_post() RETURNS trigger LANGUAGE plpgsql
    SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    unposted bigint;
BEGIN
    WITH side AS (
        SELECT from_account AS account, currency, id, from_sequence AS sequence, -amount AS amount, from_balance AS balance
        FROM added
        UNION ALL
        SELECT to_account, currency, id, to_sequence, amount, to_balance
        FROM added
    ), entry AS (
        SELECT account, currency, amount,
               sequence - row_number() OVER history AS old_sequence,
               balance - (sum(amount) OVER history)::bigint AS old_balance,
               first_value(id) OVER history AS first,
               last_value(id) OVER (history ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS last
        FROM side
        WINDOW history AS (PARTITION BY account ORDER BY id)
    ), change AS (
        SELECT account, currency, old_sequence, old_balance, first, last, count(*) AS entries, sum(amount)::bigint AS total
        FROM entry
        GROUP BY account, currency, old_sequence, old_balance, first, last
    ), posted AS (
        UPDATE accounts
        SET balance = old_balance + total, sequence = old_sequence + entries, last_transfer = last
        FROM change
        WHERE accounts.id = account AND accounts.currency = change.currency
          AND accounts.sequence = old_sequence AND accounts.balance = old_balance AND accounts.last_transfer < first
        RETURNING 1
    )
    SELECT (SELECT count(*) FROM change) - (SELECT count(*) FROM posted) INTO unposted;
    IF unposted <> 0 THEN
        RAISE EXCEPTION 'transfers do not continue the history of % account(s)', unposted
            USING ERRCODE = 'check_violation', TABLE = TG_TABLE_NAME, CONSTRAINT = TG_NAME;
    END IF;
    RETURN NULL;
END $$;
