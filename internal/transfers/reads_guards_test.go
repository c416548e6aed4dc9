package transfers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"example.com/bankapi/internal/postgres"
	"example.com/bankapi/internal/postgres/embedded"
	"example.com/bankapi/migrations"
)

// guard is the schema without one of its parts, or with another in its place. What the part costs is the difference.
type guard struct {
	name   string
	change string
	byHand bool // balances are moved by an UPDATE of the writer's
}

const unguarded = `DROP TRIGGER transfers_are_posted ON transfers; DROP TRIGGER accounts_move_by_transfers ON accounts`

// before0008 is an empty change if there is no such migration any more; TestLedgerPostsAsItDidBefore would fail then.
var before0008 = func() string {
	sql, _ := migrations.FS.ReadFile("0008_ledger_by_neighbours.down.sql")
	return string(sql)
}()

var guards = []guard{
	{name: "as it is"},
	{name: "as it is, once more"}, // what differs here is the noise
	{name: "ledger_post of migration 0002", change: before0008},
	{name: "plain UPDATE instead of ledger_post", change: unguarded, byHand: true},
	{name: "plain UPDATE and two composite foreign keys", byHand: true, change: unguarded + `;
		CREATE UNIQUE INDEX accounts_by_currency ON accounts (id, currency);
		ALTER TABLE transfers ADD FOREIGN KEY (from_account, currency) REFERENCES accounts (id, currency);
		ALTER TABLE transfers ADD FOREIGN KEY (to_account, currency) REFERENCES accounts (id, currency)`},
	{name: "no refusing triggers", change: `DROP TRIGGER transfers_never_change ON transfers;
		DROP TRIGGER accounts_move_by_transfers ON accounts; DROP TRIGGER accounts_keep_identity ON accounts`},
	{name: "no CHECKs", change: `
		ALTER TABLE transfers DROP CONSTRAINT transfers_amount_is_positive, DROP CONSTRAINT transfers_memo_is_short,
			DROP CONSTRAINT transfers_between_two_accounts;
		ALTER TABLE accounts DROP CONSTRAINT accounts_balance_above_floor, DROP CONSTRAINT accounts_customers_have_no_credit,
			DROP CONSTRAINT accounts_currency_is_a_code, DROP CONSTRAINT accounts_name_is_short, DROP CONSTRAINT accounts_status_is_known;
		ALTER TABLE idempotency_keys DROP CONSTRAINT idempotency_keys_status_is_final,
			DROP CONSTRAINT idempotency_keys_success_names_its_transfer`},
	{name: "no transfers_by_sender", change: `DROP INDEX transfers_by_sender`},
	{name: "no transfers_by_receiver", change: `DROP INDEX transfers_by_receiver`},
	{name: "no primary key of transfers", change: `ALTER TABLE transfers DROP CONSTRAINT transfers_pkey`},
	{name: "no primary key of idempotency_keys", change: `ALTER TABLE idempotency_keys DROP CONSTRAINT idempotency_keys_pkey`},
	{name: "no column xid and its index", change: `ALTER TABLE transfers DROP COLUMN xid`},
	{name: "no index of keys by age", change: `DROP INDEX idempotency_keys_by_age`},
	{name: "block-range index of keys by age", change: `DROP INDEX idempotency_keys_by_age; CREATE INDEX idempotency_keys_by_age ON idempotency_keys USING brin (created_at)`},
	{name: "B-tree of transfers by xid", change: `DROP INDEX transfers_by_xid; CREATE INDEX transfers_by_xid ON transfers (xid)`},
	{name: "accounts with full pages", change: `ALTER TABLE accounts SET (fillfactor = 100)`},
}

// BenchmarkGuards measures the writes of a batch on a grown ledger, variant by variant in turns, whose order changes from
// round to round: go test -run '^$' -bench Guards -benchtime 60x ./internal/transfers
func BenchmarkGuards(b *testing.B) {
	grown := filling{accounts: 10_000, rounds: 40, keys: 100_000}
	contenders := grown.contenders(b)
	for b.Loop() {
		for i := range contenders {
			contenders[i].turn(b)
		}
		last := contenders[0]
		copy(contenders, contenders[1:])
		contenders[len(contenders)-1] = last
	}
	report(b, contenders)
}

// batchRows is how many transfers a busy writer commits at once; turnBatches how many batches a turn has.
const batchRows, turnBatches = 128, 4

// contender writes to its own copy of the ledger.
type contender struct {
	guard
	filling
	conn     *pgx.Conn
	pid      uint32
	state    []*account
	seed     uint64
	cpu, wal []float64 // per transfer, a value a turn: microseconds of the backend, bytes
}

func (f filling) contenders(b *testing.B) []*contender {
	// The cache holds all contenders: none of them finds its pages gone at its turn.
	config := privateServer(b, "shared_buffers=3GB", "autovacuum=off", "max_wal_size=4GB")
	template := config.Database
	conn := connect(b, config)
	f.fill(b, conn)
	_ = conn.Close(b.Context())
	config.Database = "postgres"
	admin := connect(b, config)
	var all []*contender
	for i, g := range guards {
		config.Database = fmt.Sprintf("%s_%d", template, i)
		if _, err := admin.Exec(b.Context(), fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s STRATEGY file_copy", config.Database, template)); err != nil {
			b.Fatal(err)
		}
		c := &contender{guard: g, filling: f, conn: connect(b, config)}
		c.prepare(b)
		all = append(all, c)
	}
	return all
}

// privateServer is a migrated server that ends with the benchmark.
func privateServer(b *testing.B, settings ...string) *pgx.ConnConfig {
	b.Helper()
	server, err := embedded.Start(b.Context(), embedded.Options{Dir: b.TempDir(), Throwaway: true, Settings: settings})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := server.Stop(); err != nil {
			b.Error(err)
		}
	})
	if err := postgres.Migrate(b.Context(), server.URL(), slog.New(slog.DiscardHandler)); err != nil {
		b.Fatal(err)
	}
	config, err := pgx.ParseConfig(server.URL())
	if err != nil {
		b.Fatal(err)
	}
	return config
}

func connect(t testing.TB, config *pgx.ConnConfig) *pgx.Conn {
	t.Helper()
	conn, err := pgx.ConnectConfig(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// prepare makes the variant, with settings as the writer's connection has them, and learns the accounts.
func (c *contender) prepare(b *testing.B) {
	c.pid = c.conn.PgConn().PID()
	settings := "SET statement_timeout = 0"
	for _, name := range []string{"enable_seqscan", "enable_bitmapscan", "enable_hashjoin", "enable_mergejoin"} {
		settings += "; SET " + name + " = off"
	}
	const warm = `CREATE EXTENSION pg_prewarm; SELECT pg_prewarm(oid) FROM pg_class WHERE (relkind = 'i' OR relname = 'accounts') AND relnamespace = 'public'::regnamespace`
	for _, sql := range []string{c.change, "VACUUM FULL accounts", "VACUUM ANALYZE accounts", settings, warm} {
		if _, err := c.conn.Exec(b.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			b.Fatalf("%s: %v", c.name, err)
		}
	}
	rows, _ := c.conn.Query(b.Context(), `SELECT balance, sequence, last_transfer FROM accounts WHERE owner_id IS NOT NULL ORDER BY id`)
	var err error
	c.state, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (*account, error) {
		var a account
		return &a, row.Scan(&a.balance, &a.sequence, &a.lastTransfer)
	})
	if err != nil {
		b.Fatal(err)
	}
}

func (c *contender) turn(b *testing.B) {
	cpu, wal := c.spent(b)
	for range turnBatches {
		c.write(b)
	}
	cpuAfter, walAfter := c.spent(b)
	c.cpu = append(c.cpu, float64(cpuAfter-cpu)/1e3/batchRows/turnBatches)
	c.wal = append(c.wal, float64(walAfter-wal)/batchRows/turnBatches)
}

// spent is the processor time of the backend in nanoseconds, 0 where the kernel does not tell, and the WAL of the server.
func (c *contender) spent(b *testing.B) (cpu, wal int64) {
	b.Helper()
	if err := c.conn.QueryRow(b.Context(), `SELECT pg_current_wal_insert_lsn() - '0/0'`).Scan(&wal); err != nil {
		b.Fatal(err)
	}
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", c.pid))
	_, _ = fmt.Sscan(string(data), &cpu)
	return cpu, wal
}

// move is what a writer has to send who posts by himself.
const moveBalances = `
UPDATE accounts
SET balance = new.balance, sequence = new.sequence, last_transfer = new.last
FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::uuid[]) AS new (account, balance, sequence, last)
WHERE id = new.account`

// write commits one batch, as the writer would.
func (c *contender) write(b *testing.B) {
	orders, verdicts := make([]*Order, batchRows), make([]verdict, batchRows)
	touched := map[int64]bool{}
	for i := range orders {
		from, to := c.pick(), c.pick()
		for to == from {
			to = c.pick()
		}
		touched[from], touched[to] = true, true
		t := Transfer{ID: newTransferID(), From: c.account(from), To: c.account(to), Amount: 1, Currency: "NGN"}
		moved := move(c.state[from], c.state[to], t)
		orders[i] = &Order{Owner: c.owner(from), Scope: "POST /transfers", Key: t.ID.String(), Fingerprint: make([]byte, 32)}
		answer := Receipt{Transfer: t.ID, Response: Response{Status: 201, Body: make([]byte, 256)}}
		verdicts[i] = verdict{posting: &moved, keep: true, receipt: answer}
	}
	now := timestamp(time.Now())
	c.flush(b, func(send func(sql string, args ...[]byte)) {
		send("BEGIN")
		send(lockAccounts, uuids(c.ids(touched), func(id AccountID) AccountID { return id }))
		send(insertTransfers, append(postings(verdicts), now)...)
		if c.byHand {
			send(moveBalances, c.balances(touched)...)
		}
		send(insertAnswers, answers(orders, verdicts)...)
		send("COMMIT")
	})
}

// flush sends prepared statements at once, as the writer does.
func (c *contender) flush(b *testing.B, f func(send func(sql string, args ...[]byte))) {
	var prepared []*pgconn.StatementDescription
	var values [][][]byte
	f(func(sql string, args ...[]byte) {
		statement, err := c.conn.Prepare(b.Context(), sql, sql) // once
		if err != nil {
			b.Fatalf("%s: %v", c.name, err)
		}
		prepared, values = append(prepared, statement), append(values, args)
	})
	pipeline := c.conn.PgConn().StartPipeline(b.Context())
	for i, statement := range prepared {
		pipeline.SendQueryStatement(statement, values[i], binaryFormat, binaryFormat)
	}
	if err := errors.Join(pipeline.Sync(), pipeline.Close()); err != nil {
		b.Fatalf("%s: %v", c.name, err)
	}
}

// pick visits the accounts in an order that is the same for all contenders.
func (c *contender) pick() int64 {
	c.seed = c.seed*6364136223846793005 + 1442695040888963407
	return int64(c.seed >> 33 % uint64(c.accounts))
}

func (c *contender) ids(touched map[int64]bool) (ids []AccountID) {
	for i := range touched {
		ids = append(ids, c.account(i))
	}
	return ids
}

func (c *contender) balances(touched map[int64]bool) [][]byte {
	accounts := slices.Collect(maps.Keys(touched))
	return [][]byte{
		uuids(accounts, c.account),
		bigints(accounts, func(i int64) Amount { return c.state[i].balance }),
		bigints(accounts, func(i int64) int64 { return c.state[i].sequence }),
		uuids(accounts, func(i int64) TransferID { return c.state[i].lastTransfer }),
	}
}

// report prints medians, and medians of the ratios to the schema as it is in the same round.
func report(b *testing.B, contenders []*contender) {
	base := contenders[slices.IndexFunc(contenders, func(c *contender) bool { return c.name == guards[0].name })]
	slices.SortFunc(contenders, func(x, y *contender) int {
		return cmp.Compare(slices.IndexFunc(guards, func(g guard) bool { return g.name == x.name }), slices.IndexFunc(guards, func(g guard) bool { return g.name == y.name }))
	})
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "schema\tCPU µs\tratio\tWAL bytes\tHOT %")
	for _, c := range contenders {
		ratios := make([]float64, len(c.cpu))
		for i := range ratios {
			ratios[i] = c.cpu[i] / base.cpu[i]
		}
		fmt.Fprintf(table, "%s\t%.1f\t%.3f\t%.0f\t%.1f\n", c.name, median(c.cpu), median(ratios), median(c.wal), c.hot(b))
	}
	_ = table.Flush()
	fmt.Printf("\nper transfer, batches of %d, %d rounds\n%s", batchRows, len(base.cpu), &text)
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// hot is the share of updates of accounts that stayed on their page.
func (c *contender) hot(b *testing.B) (percent float64) {
	b.Helper()
	const query = `SELECT 100.0 * n_tup_hot_upd / n_tup_upd FROM pg_stat_user_tables WHERE relname = 'accounts'`
	if _, err := c.conn.Exec(b.Context(), "SELECT pg_stat_force_next_flush()"); err != nil {
		b.Fatal(err)
	}
	if err := c.conn.QueryRow(b.Context(), query).Scan(&percent); err != nil {
		b.Fatal(err)
	}
	return percent
}
