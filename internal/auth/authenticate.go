package auth

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Authenticate returns whose token it is. Unknown, expired, revoked and malformed tokens are one [ErrInvalidToken]; any
// other error means that the database could not say.
func (s *Service) Authenticate(ctx context.Context, token string) (Principal, error) {
	kind, hash, ok := parseToken(token)
	if !ok {
		return Principal{}, ErrInvalidToken
	}
	principal, verdict := s.cache.get(hash, s.now())
	switch verdict {
	case good:
		return principal, nil
	case bad:
		return Principal{}, ErrInvalidToken
	default:
		return s.lookUp(ctx, kind, hash)
	}
}

// Known reports whether this process has verified the token within the last minutes, even if it would have to look it up
// again now. It costs no look-up. It is no proof of anything: a token revoked elsewhere may still be known.
func (s *Service) Known(token string) bool {
	_, hash, ok := parseToken(token)
	return ok && s.cache.known(hash, s.now())
}

// lookUp asks the database, once for all who ask for the same token at the same time. It does not end with the caller
// that began it, since others may be waiting; each waits no longer than its own ctx.
func (s *Service) lookUp(ctx context.Context, kind Kind, hash tokenHash) (Principal, error) {
	flight := s.flights.DoChan(string(hash[:]), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookUpTimeout)
		defer cancel()
		return s.fetch(ctx, kind, hash)
	})
	select {
	case <-ctx.Done():
		return Principal{}, fmt.Errorf("authenticate: %w", ctx.Err())
	case landed := <-flight:
		principal, _ := landed.Val.(Principal)
		return principal, landed.Err
	}
}

func (s *Service) fetch(ctx context.Context, kind Kind, hash tokenHash) (Principal, error) {
	mark, now := s.cache.mark(), s.clock()
	cred, err := s.store.credential(ctx, kind, hash)
	if errors.Is(err, errNotFound) || err == nil && !now.Before(cred.ends()) {
		s.cache.reject(hash, now)
		return Principal{}, ErrInvalidToken
	}
	if err != nil {
		return Principal{}, fmt.Errorf("authenticate: %w", err)
	}
	if kind == Session && now.Sub(cred.lastUsed) >= noteUseEvery {
		s.noteUse(ctx, &cred, now)
	}
	s.cache.accept(hash, cred.principal, now, cred.ends(), mark)
	return cred.principal, nil
}

// noteUse pushes a session's idle end further away. If that fails the session is merely not extended.
func (s *Service) noteUse(ctx context.Context, cred *credential, now time.Time) {
	if err := s.store.noteUse(ctx, cred.principal.Credential, now); err != nil {
		s.log.WarnContext(ctx, "session not extended", "user", cred.principal.User.String(), "error", err)
		return
	}
	cred.lastUsed = now
}

// forget makes the next Authenticate ask the database.
func (s *Service) forget(hash tokenHash) {
	s.cache.forget(hash)
	s.flights.Forget(string(hash[:])) // a look-up under way may have read what is no longer true
}

// credential is a row of sessions or api_keys with its user.
type credential struct {
	principal Principal
	lastUsed  time.Time // sessions only, as the next
	expires   time.Time
}

// ends is the moment from which the credential is void.
func (c credential) ends() time.Time {
	if c.principal.Kind == APIKey {
		return endOfTime
	}
	idle := c.lastUsed.Add(SessionIdle)
	if c.expires.Before(idle) {
		return c.expires
	}
	return idle
}

var endOfTime = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
