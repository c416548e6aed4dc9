package auth

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/bankapi/internal/id"
)

// LogIn is a new session. Token is shown this once and kept nowhere.
type LogIn struct {
	Token     string
	ExpiresAt time.Time // at the latest; [SessionIdle] may end it earlier
	User      User
}

// LogIn opens a session. Of a user who has [MaxSessions] already it ends the one that was unused the longest. An unknown address, a malformed one and a wrong password are the same [ErrBadCredentials] after
// the same work. [ErrBusy] means that ctx ended before the password could be checked: nothing is known then.
func (s *Service) LogIn(ctx context.Context, email, password string) (LogIn, error) {
	in, err := s.logIn(ctx, email, password)
	if errors.Is(err, errHashReplaced) { // by a reset, or by a log-in that renewed it: what is stored now decides
		in, err = s.logIn(ctx, email, password)
	}
	return in, err
}

var errHashReplaced = fmt.Errorf("%w: the password was replaced meanwhile", ErrBadCredentials)

func (s *Service) logIn(ctx context.Context, email, password string) (LogIn, error) {
	user, stored, err := s.findLogin(ctx, email)
	if err != nil {
		return LogIn{}, err
	}
	password = normalizePassword(password)
	ok, err := s.hasher.verify(ctx, password, stored)
	if err != nil {
		return LogIn{}, err
	}
	if !ok {
		return LogIn{}, ErrBadCredentials
	}
	in, err := s.openSession(ctx, user, stored)
	if err == nil {
		s.renewHash(ctx, user, password, stored)
	}
	return in, err
}

// findLogin returns the user with an address and the hash to verify. Where there is none the hash is a decoy.
func (s *Service) findLogin(ctx context.Context, email string) (User, phc, error) {
	email, _ = NormalizeEmail(email) // on a fault "", which is nobody's
	user, hash, err := s.store.userByEmail(ctx, email)
	if errors.Is(err, errNotFound) {
		return User{}, s.hasher.decoy(), nil
	}
	if err != nil {
		return User{}, phc{}, fmt.Errorf("log in: %w", err)
	}
	stored, err := parsePHC(hash)
	if err != nil {
		return User{}, phc{}, fmt.Errorf("log in %s: %w", user.ID, err)
	}
	return user, stored, nil
}

// renewHash brings a hash made with other parameters up to date. The log-in does not depend on it.
func (s *Service) renewHash(ctx context.Context, user User, password string, stored phc) {
	if stored.params == s.hasher.params {
		return
	}
	hash, err := s.hasher.hash(ctx, password)
	if err == nil {
		err = s.store.replaceHash(ctx, user.ID, stored.String(), hash.String())
	}
	if err != nil {
		s.log.WarnContext(ctx, "password hash not renewed", "user", user.ID.String(), "error", err)
	}
}

// openSession opens none if the hash that was verified is no longer the user's: a session must not outlive its password.
// The new token is known from the start: its first request is not a stranger's.
func (s *Service) openSession(ctx context.Context, user User, verified phc) (LogIn, error) {
	token := newToken(Session)
	_, hash, _ := parseToken(token)
	mark, now := s.cache.mark(), s.clock()
	row := sessionRow{id: id.New(), user: user.ID, passwordHash: verified.String(), created: now, expires: now.Add(SessionLifetime)}
	ended, err := s.store.insertSession(ctx, row, hash)
	if errors.Is(err, errNotFound) {
		return LogIn{}, errHashReplaced
	}
	if err != nil {
		return LogIn{}, fmt.Errorf("log in: %w", err)
	}
	caller := Principal{User: user.ID, Email: user.Email, Plan: user.Plan, Kind: Session, Credential: row.id}
	s.cache.accept(hash, caller, now, row.expires, mark)
	for _, session := range ended {
		s.forget(session)
	}
	return LogIn{Token: token, ExpiresAt: row.expires, User: user}, nil
}

// LogOut ends the caller's session, on all instances. A session that has ended already is no error; an API key is an
// [ErrSessionRequired].
func (s *Service) LogOut(ctx context.Context, p Principal) error {
	if p.Kind != Session {
		return ErrSessionRequired
	}
	hash, err := s.store.deleteSession(ctx, p.Credential)
	if errors.Is(err, errNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("log out: %w", err)
	}
	s.forget(hash)
	return nil
}

// Purge deletes up to batch sessions that have been idle too long, and returns how many. Instances may purge at once.
func (s *Service) Purge(ctx context.Context, batch int) (int64, error) {
	n, err := s.store.deleteIdleSessions(ctx, s.clock().Add(-SessionIdle), batch)
	if err != nil {
		return 0, fmt.Errorf("purge sessions: %w", err)
	}
	return n, nil
}
