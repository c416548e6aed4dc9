// Package auth knows who is calling: users, their passwords, their sessions and API keys.
//
// # The model
//
// A user has a normalised e-mail address and an argon2id hash of a password. Logging in makes a session, a session may
// make API keys, and either is a credential: a random token of which the database keeps only the SHA-256.
//
//	bank_sess_ + 30 random base62 characters (178 bits) + 6 of their CRC-32     1 h idle, 12 h in all
//	bank_key_  +              "                         +         "             until revoked
//
// (The token of a forgotten password, bank_reset_, is made and kept in the same way. It is no credential: it sets a
// password, once, within [ResetLifetime].)
//
// A credential is valid as long as its row is there. Log-out and revocation delete it; there is no other state.
//
// # Every request: Authenticate
//
//	token --checksum--> SHA-256 --> cache: fresh? --------------------------> Principal      about half a microsecond
//	          |                        |                                         ^
//	          +--> ErrInvalidToken     +--> one look-up for all who ask at once --+
//
// A principal found is fresh for some seconds, a token found bad is refused from memory as long. Both caches are bounded.
// What keeps a revoked token from staying fresh: a trigger on the tables sends NOTIFY with the deletion, and
// [Service.Listen] drops the entry, on every instance. The listener also asks its connection for a sign of life several
// times a second, and without a recent one nothing counts as fresh; a silent network costs look-ups, not safety. So a
// revoked token is refused everywhere within [RevocationLag], and a Service that does not listen looks up each time.
// Stale entries are kept some minutes for [Service.Known], which tells a returning caller from a stranger.
//
// # Guessing
//
// LogIn does the same work for an unknown address as for a wrong password: exactly one argon2id run, behind a semaphore,
// since each takes 19 MiB and tens of milliseconds of a core. How often someone may try is not decided here: the HTTP
// layer reserves a slot with the rate limiter before it calls, keyed by [NormalizeEmail].
//
// # Forgotten passwords
//
// RequestReset answers the same for everybody and only queues the address; SendResets looks for a user and has the token
// mailed, in the background. ConfirmReset sets the password and ends all sessions in one transaction. A log-in that had
// verified the old password by then opens no session.
//
// Open service.go first, then login.go, authenticate.go and resets.go. All SQL is in store.go and resets_store.go.
package auth
