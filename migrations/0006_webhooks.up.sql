-- Customers are told of their completed transfers by HTTP. The table of transfers is itself the outbox: nothing is written
-- beside it on the way of the money, only a column with the transaction that wrote the row, and a block-range index on it,
-- which costs next to nothing because both rise together.
--
-- Ids and times are given before COMMIT, so they can become visible out of order, and a reader who remembers the last one
-- seen would skip some. Transactions below the horizon of a snapshot (its xmin) are over, whatever came of them: below it
-- nothing appears any more. So transfers are read in the order of (xid, id) and up to the horizon.
ALTER TABLE transfers ADD COLUMN xid bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint;
CREATE INDEX transfers_by_xid ON transfers USING brin (xid) WITH (pages_per_range = 16, autosummarize = on);

CREATE TABLE webhooks (
    id         uuid        PRIMARY KEY,
    user_id    uuid        NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    url        text        NOT NULL CONSTRAINT webhooks_url_is_short CHECK (octet_length(url) BETWEEN 1 AND 2048),
    partner    text        NOT NULL, -- host:port, whose rate is shaped
    secret     bytea       NOT NULL CONSTRAINT webhooks_secret_is_long CHECK (octet_length(secret) = 32), -- it signs, so it cannot be hashed
    since      pg_snapshot NOT NULL DEFAULT pg_current_snapshot(), -- what was complete by then is not told
    not_before timestamptz,                                        -- Retry-After
    created_at timestamptz NOT NULL
);

CREATE INDEX webhooks_by_user ON webhooks (user_id, id);

-- What is still to be told. A delivery goes when the partner has taken it.
CREATE TABLE webhook_deliveries (
    webhook_id  uuid        NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
    transfer_id uuid        NOT NULL,
    attempts    integer     NOT NULL DEFAULT 0,
    next_at     timestamptz NOT NULL,
    dead_at     timestamptz, -- given up
    PRIMARY KEY (webhook_id, transfer_id)
);

CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook_id, next_at, transfer_id) WHERE dead_at IS NULL;
CREATE INDEX webhook_deliveries_dead ON webhook_deliveries (dead_at) WHERE dead_at IS NOT NULL;

-- How far the outbox has been read. One row.
CREATE TABLE webhook_cursor (
    one         boolean PRIMARY KEY DEFAULT true CONSTRAINT webhook_cursor_is_one CHECK (one),
    xid         bigint  NOT NULL,
    transfer_id uuid    NOT NULL
);

INSERT INTO webhook_cursor (xid, transfer_id)
VALUES (pg_snapshot_xmin(pg_current_snapshot())::text::bigint, '00000000-0000-0000-0000-000000000000');
