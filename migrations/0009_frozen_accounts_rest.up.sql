-- ledger_post as before, and it refuses to move a frozen account: the program, which looks first, is no longer the only one
-- that sees to that. It may now send transfers without having locked their accounts.
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
        SELECT account, currency, id, sequence, balance,
               first_value(id) OVER history AS first,
               first_value(sequence) OVER history - 1 AS old_sequence,
               first_value(balance - amount) OVER history AS old_balance,
               lead(id) OVER history IS NULL AS newest,
               currency <> lag(currency, 1, currency) OVER history
               OR sequence - 1 <> lag(sequence, 1, sequence - 1) OVER history
               OR balance - amount <> lag(balance, 1, balance - amount) OVER history AS broken
        FROM side
        WINDOW history AS (PARTITION BY account ORDER BY id)
    ), posted AS (
        UPDATE accounts
        SET balance = entry.balance, sequence = entry.sequence, last_transfer = entry.id
        FROM entry
        WHERE newest AND accounts.id = account AND accounts.currency = entry.currency
          AND accounts.sequence = old_sequence AND accounts.balance = old_balance AND accounts.last_transfer < first
          AND accounts.status = 'active'
        RETURNING 1
    )
    SELECT count(*) FILTER (WHERE newest) + count(*) FILTER (WHERE broken) - (SELECT count(*) FROM posted)
    FROM entry
    INTO unposted;
    IF unposted <> 0 THEN
        RAISE EXCEPTION 'transfers do not continue the history of their accounts in % place(s)', unposted
            USING ERRCODE = 'check_violation', TABLE = TG_TABLE_NAME, CONSTRAINT = TG_NAME;
    END IF;
    RETURN NULL;
END $$;
