package transfers

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"example.com/bankapi/internal/dbtest"
	"example.com/bankapi/migrations"
)

// forged changes a row of a batch that would otherwise be posted.
var forged = []func(r *rand.Rand, batch []posting, i int){
	func(r *rand.Rand, batch []posting, i int) { batch[i].fromSequence += 2*r.Int64N(2) - 1 },
	func(r *rand.Rand, batch []posting, i int) { batch[i].toSequence += 2*r.Int64N(2) - 1 },
	func(r *rand.Rand, batch []posting, i int) { batch[i].fromBalance += Amount(2*r.Int64N(2) - 1) },
	func(r *rand.Rand, batch []posting, i int) { batch[i].toBalance += Amount(2*r.Int64N(2) - 1) },
	func(_ *rand.Rand, batch []posting, i int) { batch[i].Amount++ },
	func(_ *rand.Rand, batch []posting, i int) { batch[i].Currency = "EUR" },
	func(_ *rand.Rand, batch []posting, i int) { batch[i].ID[0] = 0 }, // in the past
	func(_ *rand.Rand, batch []posting, i int) { batch[i].To[15] ^= 0xf0 },
	func(r *rand.Rand, batch []posting, i int) { // two change their places in history, or what they did there
		j := r.IntN(len(batch))
		batch[i].ID, batch[j].ID = batch[j].ID, batch[i].ID
	},
	func(r *rand.Rand, batch []posting, i int) {
		j := r.IntN(len(batch))
		batch[i].Amount, batch[j].Amount = batch[j].Amount, batch[i].Amount
	},
	func(_ *rand.Rand, batch []posting, i int) { // a row that is missing
		copy(batch[i:], batch[i+1:])
	},
}

// The two forms of ledger_post, of migrations 0002 and 0008, post the same batches and refuse the same forgeries.
func TestLedgerPostsAsItDidBefore(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	f := filling{accounts: 4, rounds: 2}
	forms := []*pgx.Conn{f.ledger(t, ""), f.ledger(t, "0008_ledger_by_neighbours.down.sql")}
	state := make([]account, f.accounts)
	for i := range state {
		sequence := 1 + 2*f.rounds
		if int64(i) < f.accounts/4 {
			sequence += f.rounds
		}
		state[i] = account{balance: opened, sequence: sequence}
	}
	var posted, refused int
	for range 300 {
		after := slices.Clone(state)
		batch := f.batch(r, after)
		if r.IntN(2) == 0 {
			i := r.IntN(len(batch))
			forged[r.IntN(len(forged))](r, batch, i)
		}
		now, before := insertBatch(t, forms[0], batch), insertBatch(t, forms[1], batch)
		switch {
		case now != before:
			t.Fatalf("%+v\nis answered %q, and was %q", batch, now, before)
		case now == "":
			posted, state = posted+1, after
		default:
			refused++
		}
		if rows, was := balances(t, forms[0]), balances(t, forms[1]); !slices.Equal(rows, was) {
			t.Fatalf("%+v\nleaves %v, and left %v", batch, rows, was)
		}
	}
	if posted < 30 || refused < 30 {
		t.Errorf("%d batches posted, %d refused: too few to tell", posted, refused)
	}
}

// ledger is a small one, after a migration was taken back.
func (f filling) ledger(t *testing.T, down string) *pgx.Conn {
	t.Helper()
	conn := connect(t, dbtest.Pool(t).Config().ConnConfig)
	f.fill(t, conn)
	if down == "" {
		return conn
	}
	sql, err := migrations.FS.ReadFile(down)
	if err == nil {
		_, err = conn.Exec(t.Context(), string(sql))
	}
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// batch moves money between few accounts, so that their histories are entangled.
func (f filling) batch(r *rand.Rand, state []account) []posting {
	batch := make([]posting, 1+r.IntN(6))
	for i := range batch {
		from := r.IntN(len(state))
		to := (from + 1 + r.IntN(len(state)-1)) % len(state)
		batch[i] = move(&state[from], &state[to], Transfer{
			ID: newTransferID(), From: f.account(int64(from)), To: f.account(int64(to)), Amount: Amount(1 + r.IntN(3)), Currency: "NGN",
		})
	}
	return batch
}

// insertBatch returns the constraint that refused the batch, or nothing.
func insertBatch(t *testing.T, conn *pgx.Conn, batch []posting) string {
	t.Helper()
	verdicts := make([]verdict, len(batch))
	for i := range batch {
		verdicts[i].posting = &batch[i]
	}
	args := append(postings(verdicts), timestamp(time.Now()))
	err := conn.PgConn().ExecParams(t.Context(), insertTransfers, args, nil, binaryFormat, nil).Read().Err
	refusal, ok := errors.AsType[*pgconn.PgError](err)
	if err != nil && !ok {
		t.Fatal(err)
	}
	if ok {
		return refusal.Code + " " + refusal.ConstraintName
	}
	return ""
}

func balances(t *testing.T, conn *pgx.Conn) []string {
	t.Helper()
	const query = `SELECT concat_ws(' ', id, balance, sequence, last_transfer) FROM accounts ORDER BY id`
	rows, _ := conn.Query(t.Context(), query)
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return all
}
