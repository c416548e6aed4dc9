package transfers

import (
	"context"
	"hash/maphash"
	"log/slog"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgtype"
)

// lately remembers, by a hash of their names, orders that this process has answered. An order that is among them is most
// probably repeated, and then its stored answer is all that is to be read: no account has to be locked, and the writer,
// which takes every order for a new one, is not surprised. It may have forgotten an order, or be wrong about one; then the
// order takes the usual way.
//
// Each order has one place, where a later one may take over: of the last million most are there. It is safe for concurrent use.
type lately struct {
	seed  maphash.Seed
	cells []atomic.Uint64
}

const answersRemembered = 1 << 20 // 8 MB, touched as it fills

func newLately(places int) *lately {
	return &lately{seed: maphash.MakeSeed(), cells: make([]atomic.Uint64, places)}
}

// place is where an order is remembered.
type place struct {
	cell *atomic.Uint64
	hash uint64
}

func (l *lately) place(n name) place {
	hash := max(maphash.Comparable(l.seed, n), 1) // 0 is a free place
	return place{cell: &l.cells[hash%uint64(len(l.cells))], hash: hash}
}

func (p place) remember() { p.cell.Store(p.hash) }

func (p place) remembered() bool { return p.cell.Load() == p.hash }

// A server that takes no writes is not asked: it may be one that has been replaced, and know of what its successor does not.
const findAnswer = `
SELECT fingerprint, status, body, transfer_id
FROM idempotency_keys
WHERE user_id = $1 AND scope = $2 AND key = $3
  AND current_setting('transaction_read_only') = 'off'`

// replay returns the stored answer to an order that was answered lately, and whether there is one. If the database does not
// say, the writer will find out.
func (s *Service) replay(ctx context.Context, o *Order) (receipt Receipt, known bool, err error) {
	var stored answer
	var transfer pgtype.UUID
	err = s.pool.QueryRow(ctx, findAnswer, o.Owner, o.Scope, o.Key).Scan(&stored.fingerprint, &stored.receipt.Status, &stored.receipt.Body, &transfer)
	if err != nil {
		s.log.Debug("the answer to a repeated order was not found", slog.Any("error", err))
		return Receipt{}, false, nil
	}
	stored.receipt.Transfer = transfer.Bytes
	v := stored.again(o.Fingerprint)
	return v.receipt, true, v.err
}
