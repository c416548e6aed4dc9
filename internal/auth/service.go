package auth

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/crypto/argon2"
	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"

	"example.com/bankapi/internal/id"
)

// How long things last.
const (
	SessionIdle     = time.Hour      // unused that long, a session ends; uses are noted once in a minute and a half, so it may end that much earlier
	SessionLifetime = 12 * time.Hour // and so it does at this age, used or not
	RevocationLag   = time.Second    // at most this long after its revocation a token may still be accepted

	noteUseEvery  = time.Minute
	freshFor      = 30 * time.Second // no look-up of a token that long after the last one: the listener hears of what changes
	badFor        = 5 * time.Second  // and none of one that was no token
	knownFor      = 5 * time.Minute  // see Known
	lookUpTimeout = 10 * time.Second // of a look-up that may have outlived the request that began it
)

// MaxAPIKeys is how many API keys a user may have at a time, so that they fit on one page.
const MaxAPIKeys = 100

// MaxSessions is how many sessions a user may have at a time. One more ends another: a program that logs in for each of
// its requests does not fill the database.
const MaxSessions = 50

// UserID names a user.
type UserID id.ID

// String spells it "usr_...".
func (u UserID) String() string { return id.ID(u).Encode("usr") }

// User is what users may see of themselves.
type User struct {
	ID        UserID
	Email     string // normalised
	Plan      string // free, pro or enterprise
	CreatedAt time.Time
}

// Principal is a caller whose credential was verified.
type Principal struct {
	User       UserID
	Email      string
	Plan       string
	Kind       Kind
	Credential id.ID // of the session or API key
}

// Options adjusts a Service. The zero value is fit for production.
type Options struct {
	Now       func() time.Time // nil means time.Now
	Log       *slog.Logger     // nil means silence
	Hash      HashParams       // of new passwords; older hashes are renewed at the next log-in
	HashSlots int              // passwords hashed at the same time; 0 means one per processor
	CacheSize int              // credentials remembered, and as many bad tokens; 0 means 50,000 of each

	MailReset func(context.Context, Reset) error // sends one mail; nil drops them with a warning
}

// Service is safe for concurrent use. Run [Service.Listen] beside it, else each Authenticate asks the database.
type Service struct {
	store   store
	now     func() time.Time
	log     *slog.Logger
	hasher  hasher
	cache   *cache
	flights singleflight.Group // look-ups under way, by token hash

	resets    chan string // addresses that asked for a password reset
	mailReset func(context.Context, Reset) error

	resetRetryIn time.Duration
}

// New returns a Service over a migrated database.
func New(pool *pgxpool.Pool, opts Options) *Service {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.Hash == (HashParams{}) {
		opts.Hash = owasp
	}
	if opts.HashSlots == 0 {
		opts.HashSlots = runtime.GOMAXPROCS(0)
	}
	if opts.CacheSize == 0 {
		opts.CacheSize = 50_000
	}
	if opts.MailReset == nil {
		opts.MailReset = func(context.Context, Reset) error { return errors.New("nobody sends mail here") }
	}
	return &Service{
		store: store{pool: pool},
		now:   opts.Now,
		log:   opts.Log,
		hasher: hasher{
			params: opts.Hash,
			slots:  semaphore.NewWeighted(int64(opts.HashSlots)),
			derive: argon2.IDKey,
		},
		cache:     newCache(opts.CacheSize),
		resets:    make(chan string, resetQueue),
		mailReset: opts.MailReset,

		resetRetryIn: resetRetry,
	}
}

// clock returns the present at the precision of the database.
func (s *Service) clock() time.Time {
	return s.now().UTC().Truncate(time.Microsecond)
}
