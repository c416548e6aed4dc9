-- The ledger. What guards money is written here, so that it holds for whoever connects, with or without the program.

CREATE FUNCTION ledger_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = 'restrict_violation', TABLE = TG_TABLE_NAME, CONSTRAINT = TG_NAME;
END $$;

-- An account of a customer, or, without an owner, the system account of a currency from which its money comes.
-- Room is left on each page so that a posting stays on it (HOT): no index of accounts holds a column that postings change.
CREATE TABLE accounts (
    id            uuid        PRIMARY KEY,
    owner_id      uuid        REFERENCES users (id),
    currency      text        NOT NULL CONSTRAINT accounts_currency_is_a_code CHECK (currency ~ '^[A-Z]{3}$'),
    name          text        NOT NULL DEFAULT '' CONSTRAINT accounts_name_is_short CHECK (char_length(name) <= 64),
    status        text        NOT NULL DEFAULT 'active' CONSTRAINT accounts_status_is_known CHECK (status IN ('active', 'frozen')),
    floor         bigint      NOT NULL DEFAULT 0,
    balance       bigint      NOT NULL DEFAULT 0,
    sequence      bigint      NOT NULL DEFAULT 0,                                      -- of the last entry
    last_transfer uuid        NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000', -- of the last entry
    created_at    timestamptz NOT NULL,
    CONSTRAINT accounts_balance_above_floor CHECK (balance >= floor),
    CONSTRAINT accounts_customers_have_no_credit CHECK (floor = 0 OR owner_id IS NULL)
) WITH (fillfactor = 60);

CREATE UNIQUE INDEX accounts_one_system_account ON accounts (currency) WHERE owner_id IS NULL;
CREATE INDEX accounts_by_owner ON accounts (owner_id, id) WHERE owner_id IS NOT NULL;

-- A transfer holds both of its sides. Along one account's history ids and sequence numbers rise together (ledger_post sees
-- to it), so either of the two indexes gives statements and lists, newest first, and both give all entries of an account.
CREATE TABLE transfers (
    id            uuid        PRIMARY KEY,
    from_account  uuid        NOT NULL,
    to_account    uuid        NOT NULL,
    amount        bigint      NOT NULL CONSTRAINT transfers_amount_is_positive CHECK (amount > 0),
    from_sequence bigint      NOT NULL,
    from_balance  bigint      NOT NULL, -- after the transfer
    to_sequence   bigint      NOT NULL,
    to_balance    bigint      NOT NULL, -- after the transfer
    currency      text        NOT NULL,
    memo          text        NOT NULL DEFAULT '' CONSTRAINT transfers_memo_is_short CHECK (char_length(memo) <= 140),
    created_at    timestamptz NOT NULL,
    CONSTRAINT transfers_between_two_accounts CHECK (from_account <> to_account)
);

CREATE UNIQUE INDEX transfers_by_sender ON transfers (from_account, id);
CREATE UNIQUE INDEX transfers_by_receiver ON transfers (to_account, id);

CREATE VIEW entries AS
    SELECT from_account AS account_id, from_sequence AS sequence, id AS transfer_id, -amount AS amount,
           from_balance AS balance_after, to_account AS counterparty, currency, memo, created_at
    FROM transfers
    UNION ALL
    SELECT to_account, to_sequence, id, amount, to_balance, from_account, currency, memo, created_at
    FROM transfers;

-- ledger_post is the one way in which a balance moves: it posts the transfers that a statement added, all or none.
-- Each account's new entries, in the order of their ids, must continue its history: same currency, ids above the last,
-- sequence numbers without a gap, each balance the one before plus the amount. Then all entries of an account name the same
-- old sequence and old balance, one change an account comes out, and it fits the account's row.
-- It stands in for foreign keys to accounts, whose checks run row by row, at a fraction of their price.
-- The planner settings keep a plan that was made while the tables were small from staying when they have grown.
CREATE FUNCTION ledger_post() RETURNS trigger LANGUAGE plpgsql
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

CREATE TRIGGER transfers_are_posted AFTER INSERT ON transfers REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_post();
CREATE TRIGGER transfers_never_change BEFORE UPDATE OR DELETE OR TRUNCATE ON transfers
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse('a transfer never changes');

CREATE TRIGGER accounts_start_empty BEFORE INSERT ON accounts
    FOR EACH ROW WHEN (NEW.balance <> 0 OR NEW.sequence <> 0) EXECUTE FUNCTION ledger_refuse('an account starts empty');
CREATE TRIGGER accounts_move_by_transfers BEFORE UPDATE OF balance, sequence, last_transfer ON accounts
    FOR EACH STATEMENT WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION ledger_refuse('only transfers move a balance');
CREATE TRIGGER accounts_keep_identity BEFORE UPDATE OF id, owner_id, currency, floor ON accounts
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse('an account keeps its id, owner, currency and floor');
CREATE TRIGGER accounts_stay BEFORE DELETE OR TRUNCATE ON accounts
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse('an account is never deleted');

-- The answer to a keyed order, written in the transaction that moved the money. Rows are purged by age, hence the tiny
-- block-range index; nothing refers to a transfer's row from here by foreign key, because transfers are never deleted.
CREATE TABLE idempotency_keys (
    user_id     uuid        NOT NULL,
    scope       text        COLLATE "C" NOT NULL, -- method and route pattern
    key         text        COLLATE "C" NOT NULL,
    fingerprint bytea       NOT NULL,
    status      smallint    NOT NULL CONSTRAINT idempotency_keys_status_is_final CHECK (status BETWEEN 200 AND 499),
    body        bytea       NOT NULL,
    transfer_id uuid,
    created_at  timestamptz NOT NULL,
    PRIMARY KEY (user_id, scope, key),
    CONSTRAINT idempotency_keys_success_names_its_transfer CHECK ((transfer_id IS NOT NULL) = (status < 300))
);

CREATE INDEX idempotency_keys_by_age ON idempotency_keys USING brin (created_at) WITH (pages_per_range = 32, autosummarize = on);

CREATE TRIGGER idempotency_keys_never_change BEFORE UPDATE ON idempotency_keys
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse('a stored answer never changes');
