DROP TABLE api_keys, sessions, users;
DROP FUNCTION auth_tell_revoked;
