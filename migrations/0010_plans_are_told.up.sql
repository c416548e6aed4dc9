-- What an instance remembers of a credential is also its user's e-mail address and plan. A change of these is told as a
-- revocation is: it takes effect at once, everywhere, and a look-up need not be repeated every few seconds to find it.
CREATE FUNCTION auth_tell_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('auth_revoked', encode(token_hash, 'hex'))
    FROM (SELECT token_hash FROM sessions WHERE user_id = NEW.id
          UNION ALL
          SELECT token_hash FROM api_keys WHERE user_id = NEW.id) AS credential;
    RETURN NULL;
END $$;

CREATE TRIGGER users_changed AFTER UPDATE OF email, plan ON users
    FOR EACH ROW WHEN (OLD.email <> NEW.email OR OLD.plan <> NEW.plan) EXECUTE FUNCTION auth_tell_changed();
