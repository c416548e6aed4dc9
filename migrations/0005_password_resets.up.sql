-- Whoever holds the token may set the user's password, once, until it expires. Requests wait for their mail in memory:
-- a row is here only once there is a user to send it to.
CREATE TABLE password_resets (
    token_hash bytea       PRIMARY KEY CONSTRAINT password_resets_token_is_hashed CHECK (octet_length(token_hash) = 32),
    user_id    uuid        NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);

CREATE INDEX password_resets_by_user ON password_resets (user_id);
CREATE INDEX password_resets_by_expiry ON password_resets (expires_at);
