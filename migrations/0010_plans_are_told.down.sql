DROP TRIGGER users_changed ON users;
DROP FUNCTION auth_tell_changed();
