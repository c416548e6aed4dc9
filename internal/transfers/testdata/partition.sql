-- Turns transfers into a table partitioned by id, which rises with time. {boundary} is the first id of a moment to come,
-- {end} one as far away as partitions are wanted for now. docs/adr/0012 says when, and what each step locks.

-- Step 1, days before: nobody waits. Reads the table once.
ALTER TABLE transfers ADD CONSTRAINT transfers_until CHECK (id < '{boundary}') NOT VALID;
ALTER TABLE transfers VALIDATE CONSTRAINT transfers_until;

-- Step 2, before the boundary: transfers wait, some milliseconds, for changes of the catalog alone.
BEGIN;
SET LOCAL lock_timeout = '1s'; -- give up, and try again, rather than keep everybody behind us
LOCK TABLE transfers IN ACCESS EXCLUSIVE MODE;

ALTER TABLE transfers RENAME TO transfers_first;
ALTER TABLE transfers_first RENAME CONSTRAINT transfers_pkey TO transfers_first_pkey;
ALTER INDEX transfers_by_sender RENAME TO transfers_first_by_sender;
ALTER INDEX transfers_by_receiver RENAME TO transfers_first_by_receiver;
ALTER INDEX transfers_by_xid RENAME TO transfers_first_by_xid;

CREATE TABLE transfers (LIKE transfers_first INCLUDING DEFAULTS INCLUDING CONSTRAINTS) PARTITION BY RANGE (id);
ALTER TABLE transfers DROP CONSTRAINT transfers_until;
ALTER TABLE transfers ADD PRIMARY KEY (id);
CREATE UNIQUE INDEX transfers_by_sender ON transfers (from_account, id);
CREATE UNIQUE INDEX transfers_by_receiver ON transfers (to_account, id);
CREATE INDEX transfers_by_xid ON transfers USING brin (xid) WITH (pages_per_range = 16, autosummarize = on);

-- The guards stand on every table that can be named: a statement fires those of the table it names and no others.
CREATE FUNCTION ledger_guard(guarded regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE TRIGGER transfers_are_posted AFTER INSERT ON %s REFERENCING NEW TABLE AS added
        FOR EACH STATEMENT EXECUTE FUNCTION ledger_post()', guarded);
    EXECUTE format('CREATE TRIGGER transfers_never_change BEFORE UPDATE OR DELETE OR TRUNCATE ON %s
        FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse(''a transfer never changes'')', guarded);
END $$;
SELECT ledger_guard('transfers');

ALTER TABLE transfers ATTACH PARTITION transfers_first FOR VALUES FROM (MINVALUE) TO ('{boundary}');
CREATE TABLE transfers_second PARTITION OF transfers FOR VALUES FROM ('{boundary}') TO ('{end}');
SELECT ledger_guard('transfers_second');

CREATE OR REPLACE VIEW entries AS
    SELECT from_account AS account_id, from_sequence AS sequence, id AS transfer_id, -amount AS amount,
           from_balance AS balance_after, to_account AS counterparty, currency, memo, created_at
    FROM transfers
    UNION ALL
    SELECT to_account, to_sequence, id, amount, to_balance, from_account, currency, memo, created_at
    FROM transfers;
COMMIT;

-- Step 3, whenever: the bound of the partition says the same.
ALTER TABLE transfers_first DROP CONSTRAINT transfers_until;
