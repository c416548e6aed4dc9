-- Who may call, and with what. Of passwords and tokens only what cannot be turned back is kept.

CREATE TABLE users (
    id            uuid        PRIMARY KEY,
    email         text        NOT NULL, -- as auth.NormalizeEmail writes it
    password_hash text        NOT NULL CONSTRAINT users_password_is_hashed CHECK (password_hash LIKE '$argon2id$%'),
    plan          text        NOT NULL DEFAULT 'free' CONSTRAINT users_plan_is_known CHECK (plan IN ('free', 'pro', 'enterprise')),
    created_at    timestamptz NOT NULL,
    CONSTRAINT users_email_is_unique UNIQUE (email),
    CONSTRAINT users_email_has_a_length CHECK (octet_length(email) BETWEEN 3 AND 254)
);

-- A session ends an hour after last_used_at, at expires_at at the latest, or when its row goes.
CREATE TABLE sessions (
    id           uuid        PRIMARY KEY,
    user_id      uuid        NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    token_hash   bytea       NOT NULL CONSTRAINT sessions_token_is_hashed CHECK (octet_length(token_hash) = 32),
    created_at   timestamptz NOT NULL,
    last_used_at timestamptz NOT NULL, -- written at most once a minute
    expires_at   timestamptz NOT NULL,
    CONSTRAINT sessions_token_is_unique UNIQUE (token_hash)
);

CREATE INDEX sessions_by_user ON sessions (user_id);
CREATE INDEX sessions_by_last_use ON sessions (last_used_at);

CREATE TABLE api_keys (
    id         uuid        PRIMARY KEY,
    user_id    uuid        NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name       text        NOT NULL CONSTRAINT api_keys_name_is_short CHECK (char_length(name) BETWEEN 1 AND 64),
    token_hash bytea       NOT NULL CONSTRAINT api_keys_token_is_hashed CHECK (octet_length(token_hash) = 32),
    prefix     text        NOT NULL, -- of the key, for display
    last4      text        NOT NULL CONSTRAINT api_keys_last4_is_short CHECK (char_length(last4) = 4),
    created_at timestamptz NOT NULL,
    CONSTRAINT api_keys_token_is_unique UNIQUE (token_hash)
);

CREATE INDEX api_keys_by_user ON api_keys (user_id, id);

-- Every instance remembers for some seconds who a token belongs to. Whatever takes a credential away, the program, a
-- cascade or a hand at psql, tells all of them the moment it commits.
CREATE FUNCTION auth_tell_revoked() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('auth_revoked', encode(OLD.token_hash, 'hex'));
    RETURN NULL;
END $$;

CREATE TRIGGER sessions_revoked AFTER DELETE OR UPDATE OF user_id, token_hash, expires_at ON sessions
    FOR EACH ROW EXECUTE FUNCTION auth_tell_revoked();

CREATE TRIGGER api_keys_revoked AFTER DELETE OR UPDATE OF user_id, token_hash ON api_keys
    FOR EACH ROW EXECUTE FUNCTION auth_tell_revoked();
