package transfers

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/bankapi/internal/id"
	"example.com/bankapi/internal/idempotency"
)

// BenchmarkReads compares the customers' reads of a ledger of 100 thousand transfers with those of one of a million, or
// of BANKAPI_BENCH_TRANSFERS, in turns: make bench-reads takes 10 million. It prints medians and asserts nothing.
func BenchmarkReads(b *testing.B) {
	transfers, err := strconv.ParseInt(os.Getenv("BANKAPI_BENCH_TRANSFERS"), 10, 64)
	if err != nil {
		transfers = 1_000_000
	}
	const accounts = 1000
	sizes := []filling{{accounts: accounts, rounds: 80}, {accounts: accounts, rounds: transfers / (accounts * 5 / 2) * 2}}
	services := make([]*Service, len(sizes))
	for i := range sizes {
		sizes[i].keys = min(sizes[i].transfers(), 2_000_000) // keys live for a day only
		services[i] = sizes[i].serve(b)
	}
	reads := []map[string]func(context.Context, *Service) error{sizes[0].benched(), sizes[1].benched()}
	names := slices.Sorted(maps.Keys(reads[0]))
	times := map[string][][]float64{}
	for b.Loop() {
		for _, name := range names {
			var turn []float64
			for i, s := range services {
				turn = append(turn, clock(b, s, reads[i][name]))
			}
			times[name] = append(times[name], turn)
		}
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "\nread\t%d transfers, µs\t%d transfers, µs\tratio\n", sizes[0].transfers(), sizes[1].transfers())
	for _, name := range names {
		var small, grown, ratio []float64
		for _, turn := range times[name] {
			small, grown, ratio = append(small, turn[0]), append(grown, turn[1]), append(ratio, turn[1]/turn[0])
		}
		fmt.Fprintf(table, "%s\t%.0f\t%.0f\t%.2f\n", name, median(small), median(grown), median(ratio))
	}
	_ = table.Flush()
	audit(b, services[1])
}

// benched are pages of the default size, and the look-up of a key.
func (f filling) benched() map[string]func(context.Context, *Service) error {
	reads := f.reads(20)
	payer := f.accounts / 2
	paid := f.transfer(f.accounts + 1 + payer) // in the first round
	key := fmt.Sprintf("%x-%x-%x-%x-%x", paid[:4], paid[4:6], paid[6:8], paid[8:10], paid[10:])
	reads["idempotency key"] = func(ctx context.Context, s *Service) error {
		record, err := idempotency.Store{Pool: s.pool}.Find(ctx, id.ID(f.owner(payer)), "POST /transfers", key)
		if err == nil && record.Transfer != id.ID(paid) {
			err = fmt.Errorf("found %+v", record)
		}
		return err
	}
	return reads
}

// serve fills a ledger on a server of its own and returns a Service whose connection is warm.
func (f filling) serve(b *testing.B) *Service {
	b.Helper()
	config := privateServer(b, "shared_buffers=1GB", "max_wal_size=8GB")
	begun := time.Now()
	f.fill(b, connect(b, config))
	fmt.Printf("filled %d transfers in %v\n", f.transfers(), time.Since(begun).Round(time.Second))
	poolConfig, err := pgxpool.ParseConfig(config.ConnString())
	if err != nil {
		b.Fatal(err)
	}
	poolConfig.MaxConns = 1
	pool, err := pgxpool.NewWithConfig(b.Context(), poolConfig)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(pool.Close)
	s := New(pool, Options{})
	for _, read := range f.benched() {
		for range 10 {
			clock(b, s, read)
		}
	}
	return s
}

// clock is how long a read takes, in microseconds, its answer included.
func clock(b *testing.B, s *Service, read func(context.Context, *Service) error) float64 {
	b.Helper()
	begun := time.Now()
	if err := read(b.Context(), s); err != nil {
		b.Fatal(err)
	}
	return float64(time.Since(begun).Nanoseconds()) / 1e3
}

// audit prints what the audit of the whole ledger takes.
func audit(b *testing.B, s *Service) {
	b.Helper()
	begun := time.Now()
	report, err := s.Integrity(b.Context())
	if err != nil || !report.OK() {
		b.Fatalf("%+v, %v", report, err)
	}
	fmt.Printf("audited %d transfers in %v\n", report.Transfers, time.Since(begun).Round(time.Millisecond))
}
