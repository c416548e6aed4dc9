package auth

import "errors"

// What a caller can do wrong, or the machine not do now.
var (
	ErrInvalidEmail   = errors.New("not a usable e-mail address")
	ErrWeakPassword   = errors.New("password is too weak") // comes as a *WeakPasswordError
	ErrEmailTaken     = errors.New("e-mail address is taken")
	ErrBadCredentials = errors.New("e-mail address or password is wrong") // never says which
	ErrBusy           = errors.New("no time left to check a password")

	ErrInvalidReset  = errors.New("invalid password reset token") // malformed, unknown, used or too old: one error
	ErrTooManyResets = errors.New("too many password resets wait for their mail")

	ErrNoCredentials        = errors.New("no bearer token")
	ErrMalformedCredentials = errors.New("malformed bearer token")
	ErrTwoCredentials       = errors.New("more than one Authorization line")
	ErrInvalidToken         = errors.New("invalid token") // unknown, expired, revoked or malformed: one error

	ErrSessionRequired   = errors.New("only a session may do this, not an API key")
	ErrInvalidAPIKeyName = errors.New("API key name must be 1 to 64 printable characters")
	ErrTooManyAPIKeys    = errors.New("too many API keys")
	ErrAPIKeyNotFound    = errors.New("no such API key")
)

// WeakPasswordError is an [ErrWeakPassword] that says what is wrong. Reason is for the user and never quotes the password.
type WeakPasswordError struct {
	Reason string // "is shorter than 15 characters"
}

func (e *WeakPasswordError) Error() string { return "password " + e.Reason }

// Unwrap makes errors.Is(err, ErrWeakPassword) true.
func (e *WeakPasswordError) Unwrap() error { return ErrWeakPassword }
