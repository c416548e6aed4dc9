package transfers

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/bankapi/internal/id"
)

// Options tune a Service. The zero value is a sound choice.
type Options struct {
	Now           func() time.Time                 // time.Now
	Log           *slog.Logger                     // discards
	QueueSize     int                              // orders that may wait; 4096
	BatchSize     int                              // orders settled at once; 512
	AheadFrom     int                              // orders that have to wait for a batch to be sent while another is on its way; 64
	Patience      time.Duration                    // how long a batch is tried again before its orders are answered ErrOverloaded; 5 s
	OpeningCredit Amount                           // what OpenAccount moves from the system account to a new one; 0 moves nothing
	Settled       func(orders int, accounts Known) // told of each batch that committed; nil tells nobody
	Fault         func(Point)                      // called by the writer at each Point, to try crashes and delays; nil costs nothing
}

// Known says how the accounts of a batch were known when it was judged.
type Known string

// A batch is foreseen, or locked because it could not be, or locked because what was foreseen turned out to be otherwise.
const (
	Foreseen  Known = "foreseen"
	Locked    Known = "locked"
	Surprised Known = "surprised"
)

// Service is the ledger of one process. It is safe for concurrent use, and so are several processes on one database.
type Service struct {
	pool          *pgxpool.Pool
	now           func() time.Time
	log           *slog.Logger
	queue         *queue
	lately        *lately
	aheadFrom     int
	patience      time.Duration
	openingCredit Amount
	settled       func(orders int, accounts Known)
	fault         func(Point)
}

// New returns a Service that reads through pool. Its writer dials a connection of its own, with the pool's settings,
// when [Service.Run] first needs it.
func New(pool *pgxpool.Pool, o Options) *Service {
	s := &Service{
		pool:          pool,
		now:           o.Now,
		log:           cmp.Or(o.Log, slog.New(slog.DiscardHandler)),
		queue:         newQueue(cmp.Or(o.QueueSize, 4096), cmp.Or(o.BatchSize, 512)),
		lately:        newLately(answersRemembered),
		aheadFrom:     cmp.Or(o.AheadFrom, 64),
		patience:      cmp.Or(o.Patience, 5*time.Second),
		openingCredit: o.OpeningCredit,
		settled:       o.Settled,
		fault:         o.Fault,
	}
	if s.settled == nil {
		s.settled = func(int, Known) {}
	}
	if s.now == nil {
		s.now = time.Now
	}
	return s
}

// Transfer executes the order once, however often and wherever it is sent, and answers after COMMIT.
//
// A Receipt is the stored answer, be it a transfer or a refusal that was decided under the locks. An error leaves the key
// as it was: one of the Err variables of this package, a [*KeyReusedError], or an unexpected fault.
//
// While the order waits, the end of ctx takes it back. Once its batch has begun, ctx is ignored and Transfer returns
// what became of it, within twice Options.Patience: a batch ahead may need as long. Orders of one name wait for each
// other; the later ones get the replay.
func (s *Service) Transfer(ctx context.Context, o Order) (Receipt, error) {
	if o.Key == "" || o.Render == nil {
		return Receipt{}, fmt.Errorf("transfer: the order lacks a key or a renderer")
	}
	if err := o.validate(); err != nil {
		return Receipt{}, err
	}
	r := &request{order: o, place: s.lately.place(o.name()), done: make(chan struct{})}
	if r.place.remembered() {
		if receipt, known, err := s.replay(ctx, &o); known {
			return receipt, err
		}
	}
	now := s.now()
	var patience time.Duration
	if deadline, ok := ctx.Deadline(); ok {
		patience = cmp.Or(deadline.Sub(now), -1)
	}
	if !s.queue.push(r, now, patience) {
		return Receipt{}, ErrOverloaded
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		if s.queue.withdraw(r) {
			return Receipt{}, s.tooLate(ctx, o.name())
		}
		<-r.done
	}
	return r.receipt, r.err
}

// tooLate says why an order that was taken back was not answered.
func (s *Service) tooLate(ctx context.Context, n name) error {
	if s.queue.holds(n) {
		return ErrKeyInUse
	}
	return fmt.Errorf("%w: %w", ErrOverloaded, context.Cause(ctx))
}

// InFlight reports whether an order of this name is under way in this process. To learn the state of a key, ask this
// first and the stored keys second: an order that is no longer in flight has been stored, if it ever will be.
func (s *Service) InFlight(owner OwnerID, scope, key string) bool {
	return s.queue.holds(name{owner: owner, scope: scope, key: key})
}

func newTransferID() TransferID { return TransferID(id.New()) }
