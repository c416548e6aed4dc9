package auth

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"example.com/bankapi/internal/id"
)

const maxAPIKeyName = 64 // code points

// APIKeyInfo is what is kept of an API key for its owner to recognise it by.
type APIKeyInfo struct {
	ID        id.ID
	Name      string
	Prefix    string // bank_key_ and the first four characters
	Last4     string
	CreatedAt time.Time
}

// CreateAPIKey makes a key for the caller and returns it with its secret, which is shown this once. Only a session may:
// [ErrSessionRequired], so that a leaked key cannot beget others. [ErrInvalidAPIKeyName], [ErrTooManyAPIKeys].
func (s *Service) CreateAPIKey(ctx context.Context, p Principal, name string) (key APIKeyInfo, secret string, err error) {
	if p.Kind != Session {
		return APIKeyInfo{}, "", ErrSessionRequired
	}
	name = strings.TrimSpace(name)
	if !isAPIKeyName(name) {
		return APIKeyInfo{}, "", ErrInvalidAPIKeyName
	}
	secret = newToken(APIKey)
	_, hash, _ := parseToken(secret)
	key = APIKeyInfo{
		ID:        id.New(),
		Name:      name,
		Prefix:    secret[:len(apiKeyPrefix)+4],
		Last4:     secret[len(secret)-4:],
		CreatedAt: s.clock(),
	}
	if err := s.store.insertAPIKey(ctx, p.User, key, hash); err != nil {
		return APIKeyInfo{}, "", fmt.Errorf("create API key: %w", err)
	}
	return key, secret, nil
}

func isAPIKeyName(s string) bool {
	n := utf8.RuneCountInString(s)
	return n >= 1 && n <= maxAPIKeyName && utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// ListAPIKeys returns the caller's keys, newest first, at most [MaxAPIKeys].
func (s *Service) ListAPIKeys(ctx context.Context, p Principal) ([]APIKeyInfo, error) {
	keys, err := s.store.apiKeys(ctx, p.User)
	if err != nil {
		return nil, fmt.Errorf("list API keys: %w", err)
	}
	return keys, nil
}

// RevokeAPIKey ends one of the caller's keys, on all instances. A key that is another's or gone is [ErrAPIKeyNotFound].
func (s *Service) RevokeAPIKey(ctx context.Context, p Principal, key id.ID) error {
	hash, err := s.store.deleteAPIKey(ctx, p.User, key)
	if errors.Is(err, errNotFound) {
		return ErrAPIKeyNotFound
	}
	if err != nil {
		return fmt.Errorf("revoke API key: %w", err)
	}
	s.forget(hash)
	return nil
}
