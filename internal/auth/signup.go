package auth

import (
	"context"
	"fmt"

	"example.com/bankapi/internal/id"
)

const freePlan = "free"

// SignUp makes a user on the free plan. It returns [ErrInvalidEmail], a *[WeakPasswordError], [ErrEmailTaken], or
// [ErrBusy] when ctx ends before a password can be hashed.
func (s *Service) SignUp(ctx context.Context, email, password string) (User, error) {
	email, err := NormalizeEmail(email)
	if err != nil {
		return User{}, err
	}
	if err := checkPassword(password, email); err != nil {
		return User{}, err
	}
	hash, err := s.hasher.hash(ctx, normalizePassword(password))
	if err != nil {
		return User{}, err
	}
	user := User{ID: UserID(id.New()), Email: email, Plan: freePlan, CreatedAt: s.clock()}
	if err := s.store.insertUser(ctx, user, hash.String()); err != nil {
		return User{}, fmt.Errorf("sign up: %w", err)
	}
	return user, nil
}

// Me returns the caller as a user. A user who is gone is an [ErrInvalidToken].
func (s *Service) Me(ctx context.Context, p Principal) (User, error) {
	user, err := s.store.user(ctx, p.User)
	if err != nil {
		return User{}, fmt.Errorf("me: %w", gone(err))
	}
	return user, nil
}
