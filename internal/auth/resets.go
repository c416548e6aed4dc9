package auth

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ResetLifetime is how long the token of a password reset is good for.
const ResetLifetime = 30 * time.Minute

const (
	resetQueue   = 256              // requests that wait for their mail
	resetWorkers = 2                // mails sent at the same time
	resetTries   = 3                // of one mail
	resetRetry   = 2 * time.Second  // after the first failure, twice that after the second
	resetTimeout = 30 * time.Second // for one mail, all tries together
	resetDrain   = 5 * time.Second  // for what waits when the process stops
)

// Reset is what the mail of a password reset is made of.
type Reset struct {
	Email     string
	Token     string // sets the password once; kept nowhere
	ExpiresAt time.Time
}

// RequestReset has a token sent to an address, if a user has it. It only puts the address in a queue, so that the answer
// says nothing about who is a customer, neither in words nor in time. [ErrInvalidEmail]; [ErrTooManyResets] if the queue
// is full. [Service.SendResets] does the rest.
func (s *Service) RequestReset(email string) error {
	email, err := NormalizeEmail(email)
	if err != nil {
		return err
	}
	select {
	case s.resets <- email:
		return nil
	default:
		return ErrTooManyResets
	}
}

// SendResets makes and sends the tokens that were asked for until ctx ends, then those that still wait, and returns nil.
// What cannot be sent is logged and forgotten: its user asks again. Run it once per Service.
func (s *Service) SendResets(ctx context.Context) error {
	var workers sync.WaitGroup
	for range resetWorkers {
		workers.Go(func() { s.sendResets(ctx) })
	}
	workers.Wait()
	return nil
}

func (s *Service) sendResets(ctx context.Context) {
	lasting := context.WithoutCancel(ctx) // a mail once begun is finished
	for ctx.Err() == nil {
		select {
		case email := <-s.resets:
			s.sendReset(lasting, email)
		case <-ctx.Done():
		}
	}
	drain, cancel := context.WithTimeout(lasting, resetDrain)
	defer cancel()
	for {
		select {
		case email := <-s.resets:
			s.sendReset(drain, email)
		default:
			return
		}
	}
}

func (s *Service) sendReset(ctx context.Context, email string) {
	ctx, cancel := context.WithTimeout(ctx, resetTimeout)
	defer cancel()
	reset, err := s.newReset(ctx, email)
	if errors.Is(err, errNotFound) {
		return
	}
	for try := 1; err == nil; try++ {
		if err = s.mailReset(ctx, reset); err == nil {
			return
		}
		if try < resetTries && pause(ctx, time.Duration(try)*s.resetRetryIn) {
			err = nil
		}
	}
	s.log.WarnContext(ctx, "password reset not sent", "error", err)
}

// newReset makes a token for the user with an address. Earlier ones stay good: whoever asks in another's name must not be
// able to void theirs.
func (s *Service) newReset(ctx context.Context, email string) (Reset, error) {
	user, _, err := s.store.userByEmail(ctx, email)
	if err != nil {
		return Reset{}, err
	}
	token, now := mint(resetPrefix), s.clock()
	hash, _ := parse(resetPrefix, token)
	reset := Reset{Email: user.Email, Token: token, ExpiresAt: now.Add(ResetLifetime)}
	return reset, s.store.insertReset(ctx, user.ID, hash, now, reset.ExpiresAt)
}

func pause(ctx context.Context, d time.Duration) (whole bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// ConfirmReset sets the password of the user whom a token was sent to. The token and all others of that user are spent
// then, and every session of the user is over, on all instances; API keys stay. A token that is malformed, unknown, used
// or too old is [ErrInvalidReset]; a *[WeakPasswordError] and [ErrBusy] leave it good.
func (s *Service) ConfirmReset(ctx context.Context, token, password string) error {
	hash, ok := parse(resetPrefix, token)
	if !ok {
		return ErrInvalidReset
	}
	email, err := s.store.emailOfReset(ctx, hash, s.clock()) // before the expensive part
	if err != nil {
		return fmt.Errorf("confirm password reset: %w", spent(err))
	}
	if err := checkPassword(password, email); err != nil {
		return err
	}
	stored, err := s.hasher.hash(ctx, normalizePassword(password))
	if err != nil {
		return err
	}
	ended, err := s.store.resetPassword(ctx, hash, stored.String(), s.clock())
	if err != nil {
		return fmt.Errorf("confirm password reset: %w", spent(err))
	}
	for _, session := range ended {
		s.forget(session)
	}
	return nil
}

// spent turns a missing row into what it means for whoever sent the token.
func spent(err error) error {
	if errors.Is(err, errNotFound) {
		return ErrInvalidReset
	}
	return err
}

// PurgeResets deletes up to batch tokens that are too old, and returns how many. Instances may purge at once.
func (s *Service) PurgeResets(ctx context.Context, batch int) (int64, error) {
	n, err := s.store.deleteExpiredResets(ctx, s.clock(), batch)
	if err != nil {
		return 0, fmt.Errorf("purge password resets: %w", err)
	}
	return n, nil
}
