package transfers_test

import (
	"bytes"
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/bankapi/internal/transfers"
)

// hole loses a connection without a word, as a firewall does that has forgotten it: what is written vanishes, nothing
// comes, and nobody says so. Connections that are made later are sound.
type hole struct {
	word  []byte // of what the client writes, at which the connection is lost
	armed atomic.Bool
}

func (h *hole) wrap(conn net.Conn) net.Conn { return &swallowed{Conn: conn, h: h} }

type swallowed struct {
	net.Conn
	h    *hole
	lost atomic.Bool
}

func (c *swallowed) Write(p []byte) (int, error) {
	if bytes.Contains(p, c.h.word) && c.h.armed.CompareAndSwap(true, false) {
		c.lost.Store(true)
	}
	if c.lost.Load() {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

// The order that meets the silence waits, and is settled over another connection before patience ends.
func TestAConnectionLostWithoutAWordIsReplaced(t *testing.T) {
	t.Parallel()
	b := openBank(t, transfers.Options{})
	h := &hole{word: []byte("ledger_3_INSERT")}
	b.Service = start(t, b.wrapped(h.wrap), transfers.Options{Patience: 3 * time.Second})
	ada, grace := b.open(100), b.open(0)
	b.mustSend(order(ada, grace, 10, "first"), 201)
	h.armed.Store(true)
	if r := b.mustSend(order(ada, grace, 10, "second"), 201); r.Replayed || h.armed.Load() {
		t.Errorf("%+v, lost: %v", r, !h.armed.Load())
	}
	b.wantBalance(ada, 80)
}

// The connection that is made before the first order comes must not be waited for without end.
func TestAFirstConnectionLostWithoutAWordIsReplaced(t *testing.T) {
	t.Parallel()
	b := openBank(t, transfers.Options{})
	ada, grace := b.open(100), b.open(0)
	h := &hole{word: []byte("ledger_0_BEGIN")}
	h.armed.Store(true)
	b.Service = start(t, b.wrapped(h.wrap), transfers.Options{Patience: 2 * time.Second})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if r, err := b.Transfer(ctx, order(ada, grace, 10, "first")); err != nil || r.Status != 201 {
		t.Errorf("%+v, %v", r, err)
	}
	if h.armed.Load() {
		t.Error("nothing was lost")
	}
}

// Whatever the role or the URL says, a transfer that was answered is on the disk.
func TestNoCommitIsAnsweredBeforeItLasts(t *testing.T) {
	t.Parallel()
	b := openBank(t, transfers.Options{})
	b.exec(`CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN
			NEW.memo = current_setting('synchronous_commit');
			RETURN NEW;
		END $$`)
	b.exec(`CREATE TRIGGER note BEFORE INSERT ON transfers FOR EACH ROW EXECUTE FUNCTION note()`)
	ada, grace := b.open(100), b.open(0)
	for given, want := range map[string]string{"off": "on", "local": "local", "remote_apply": "remote_apply"} {
		pool := b.connected(func(c *pgx.ConnConfig) { c.RuntimeParams["synchronous_commit"] = given })
		b.Service = start(t, pool, transfers.Options{})
		b.mustSend(order(ada, grace, 1, given), 201)
		var got string
		if err := b.pool.QueryRow(t.Context(), `SELECT memo FROM transfers ORDER BY id DESC LIMIT 1`).Scan(&got); err != nil || got != want {
			t.Errorf("%s: committed with %q, want %q: %v", given, got, want, err)
		}
	}
}
