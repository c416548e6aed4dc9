package webhooks

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/bankapi/internal/id"
)

// MaxHooks is how many webhooks a customer may have at a time.
const MaxHooks = 10

// What a customer can do wrong.
var (
	ErrInvalidURL      = errors.New("not a URL that events can be sent to") // comes as a *URLError
	ErrTooManyWebhooks = errors.New("too many webhooks")
	ErrWebhookNotFound = errors.New("no such webhook")
)

// OwnerID names the user whose webhook it is.
type OwnerID id.ID

// Hook is where to tell a customer of completed transfers.
type Hook struct {
	ID        id.ID
	URL       string
	CreatedAt time.Time
}

// A Line makes whoever calls Wait wait for their turn, at a constant rate, or refuses at once if too many wait. The limiter's
// Shaper is one.
type Line interface{ Wait(context.Context) error }

// Options adjusts a Service. The zero value is fit for production but for Line.
type Options struct {
	Line func(perSecond int64, places int) (Line, error) // makes the line before one partner; Run needs it

	Observer Observer // nil: nobody

	Now           func() time.Time // nil means time.Now
	Log           *slog.Logger     // nil means silence
	Rate          int64            // requests a second to one partner; 0 means 5
	AllowLoopback bool             // hooks may point to this machine, also without TLS: for demos
	MaxAttempts   int              // then a delivery is given up; 0 means 10, about a day
	FirstRetry    time.Duration    // after the first failure, four times that after the second and so on; 0 means 5 s
	Timeout       time.Duration    // for one request; 0 means 5 s
	Poll          time.Duration    // between looks at the outbox; 0 means 250 ms
	Measure       time.Duration    // between looks at the backlog, for the Observer; 0 means 10 s
}

// Service is safe for concurrent use. Run [Service.Run] beside it, in any number of processes.
type Service struct {
	Options
	store  store
	client *http.Client
}

// New returns a Service over a migrated database.
func New(pool *pgxpool.Pool, opts Options) *Service {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	opts.Rate = or(opts.Rate, 5)
	opts.MaxAttempts = or(opts.MaxAttempts, 10)
	opts.FirstRetry = or(opts.FirstRetry, 5*time.Second)
	opts.Timeout = or(opts.Timeout, 5*time.Second)
	opts.Poll = or(opts.Poll, 250*time.Millisecond)
	opts.Measure = or(opts.Measure, 10*time.Second)
	opts.Observer = or[Observer](opts.Observer, nobody{})
	return &Service{Options: opts, store: store{pool: pool}, client: newClient(opts.Timeout, opts.AllowLoopback)}
}

func or[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}

const secretLen = 32

// Create adds a webhook and returns it with the secret that signs its requests, which is shown this once. It is told of
// every transfer that completes from now on. A *[URLError], [ErrTooManyWebhooks].
func (s *Service) Create(ctx context.Context, owner OwnerID, rawURL string) (hook Hook, secret string, err error) {
	partner, err := checkURL(rawURL, s.AllowLoopback)
	if err != nil {
		return Hook{}, "", err
	}
	key := make([]byte, secretLen)
	_, _ = rand.Read(key) // never fails
	hook = Hook{ID: id.New(), URL: rawURL, CreatedAt: s.clock()}
	if err := s.store.insertHook(ctx, owner, hook, partner, key); err != nil {
		return Hook{}, "", fmt.Errorf("create webhook: %w", err)
	}
	return hook, secretPrefix + base64.StdEncoding.EncodeToString(key), nil
}

// List returns the owner's webhooks, newest first, at most [MaxHooks].
func (s *Service) List(ctx context.Context, owner OwnerID) ([]Hook, error) {
	hooks, err := s.store.hooks(ctx, owner)
	if err != nil {
		return nil, fmt.Errorf("list webhooks: %w", err)
	}
	return hooks, nil
}

// Delete ends a webhook and forgets what it was still to be told. One that is another's or gone is [ErrWebhookNotFound].
func (s *Service) Delete(ctx context.Context, owner OwnerID, hook id.ID) error {
	if err := s.store.deleteHook(ctx, owner, hook); err != nil {
		return fmt.Errorf("delete webhook: %w", err)
	}
	return nil
}

// deadLive is how long a delivery that was given up is kept for people to look at.
const deadLive = 7 * 24 * time.Hour

// Purge deletes up to batch deliveries that were given up a week ago, and returns how many. Processes may purge at once.
func (s *Service) Purge(ctx context.Context, batch int) (int64, error) {
	n, err := s.store.deleteDead(ctx, s.clock().Add(-deadLive), batch)
	if err != nil {
		return 0, fmt.Errorf("purge webhook deliveries: %w", err)
	}
	return n, nil
}

// clock returns the present at the precision of the database.
func (s *Service) clock() time.Time {
	return s.Now().UTC().Truncate(time.Microsecond)
}
