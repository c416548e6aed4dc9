package transfers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/bankapi/internal/dbtest"
)

// reads are what customers ask for, by name: of an account with a middling history and of the hot one.
func (f filling) reads(page int) map[string]func(context.Context, *Service) error {
	reads := map[string]func(context.Context, *Service) error{}
	middle := f.transfer(f.transfers() / 2)
	for who, i := range map[string]int64{"account": f.accounts / 2, "hot account": f.hot()} {
		reads[who] = func(ctx context.Context, s *Service) error {
			_, err := s.Account(ctx, f.owner(i), f.account(i))
			return err
		}
		reads[who+", a transfer"] = func(ctx context.Context, s *Service) error {
			_, err := s.GetTransfer(ctx, f.owner(i), f.transfer(i)) // the opening credit
			return err
		}
		for where, p := range map[string]Page{"newest": {Limit: page}, "middle": {Limit: page, Before: middle}} {
			reads[who+", statement, "+where] = func(ctx context.Context, s *Service) error {
				entries, more, err := s.Entries(ctx, f.owner(i), f.account(i), p)
				return full(p, len(entries), more, err)
			}
			reads[who+", list, "+where] = func(ctx context.Context, s *Service) error {
				transfers, more, err := s.Transfers(ctx, f.owner(i), p)
				return full(p, len(transfers), more, err)
			}
		}
	}
	return reads
}

func full(p Page, rows int, more bool, err error) error {
	if err == nil && (rows != p.Limit || !more) {
		err = fmt.Errorf("%d rows, more %t: not a full page", rows, more)
	}
	return err
}

// A read touches as many pages of a ledger that has grown as of a small one, but for the depth of the indexes: with plans
// that were made, and kept, while the tables were empty, and with plans that know better.
func TestReadsTouchAsManyPagesOfAGrownLedger(t *testing.T) {
	t.Parallel()
	small, grown := filling{accounts: 2000, rounds: 8}, filling{accounts: 2000, rounds: 80}
	want := small.pagesTouched(t)
	for when, pages := range grown.pagesTouched(t) {
		for _, name := range slices.Sorted(maps.Keys(pages)) {
			if got, want := pages[name], want["analyzed"][name]; got > want+want/2 {
				t.Errorf("%s: %s touches %d pages, %d in the small ledger", when, name, got, want)
			}
		}
	}
}

// pagesTouched fills a ledger and tells for each read how many pages of tables and indexes it takes.
func (f filling) pagesTouched(t *testing.T) map[string]map[string]int64 {
	pool := solitary(t)
	s := New(pool, Options{})
	measure := func() map[string]int64 {
		pages := map[string]int64{}
		for name, read := range f.reads(6) {
			for range 8 { // from the sixth on a plan may be kept
				before := touched(t, pool)
				if err := read(t.Context(), s); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				pages[name] = touched(t, pool) - before
			}
		}
		return pages
	}
	for _, read := range f.reads(6) {
		for range 8 {
			if err := read(t.Context(), s); err == nil {
				t.Fatal("an empty ledger has a full page")
			}
		}
	}
	conn := connect(t, pool.Config().ConnConfig)
	f.grow(t, conn)
	pages := map[string]map[string]int64{"with plans from an empty table": measure()}
	if _, err := conn.Exec(t.Context(), "VACUUM ANALYZE accounts, transfers"); err != nil {
		t.Fatal(err)
	}
	pages["analyzed"] = measure()
	if report, err := s.Integrity(t.Context()); err != nil || !report.OK() || report.Transfers != f.transfers() {
		t.Errorf("the filled ledger: %+v, %v", report, err)
	}
	return pages
}

// solitary is a pool of one connection on a database whose counters nobody else moves.
func solitary(t *testing.T) *pgxpool.Pool {
	t.Helper()
	config := dbtest.Pool(t).Config()
	config.MaxConns = 1
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	for _, table := range []string{"accounts", "transfers"} {
		if _, err := pool.Exec(t.Context(), "ALTER TABLE "+table+" SET (autovacuum_enabled = off)"); err != nil {
			t.Fatal(err)
		}
	}
	return pool
}

// touched is how many pages of the ledger, cached or not, were looked at by now.
func touched(t *testing.T, pool *pgxpool.Pool) (pages int64) {
	t.Helper()
	const query = `
SELECT sum(heap_blks_read + heap_blks_hit + idx_blks_read + idx_blks_hit)::bigint
FROM pg_statio_user_tables WHERE relname IN ('accounts', 'transfers')`
	_, err := pool.Exec(t.Context(), "SELECT pg_stat_force_next_flush()")
	err = errors.Join(err, pool.QueryRow(t.Context(), query).Scan(&pages))
	if err != nil {
		t.Fatal(err)
	}
	return pages
}
