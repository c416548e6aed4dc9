package transfers_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"example.com/bankapi/internal/transfers"
)

// Instances that want the same accounts at the same time take turns: none gets less than a quarter of its share, nobody
// deadlocks, no batch is tried twice.
func TestInstancesDoNotStarveEachOther(t *testing.T) {
	t.Parallel()
	const instances, callers, total = 3, 8, 3000
	var log mishaps
	b := openBank(t, log.options())
	services := []*transfers.Service{b.Service}
	for len(services) < instances {
		services = append(services, start(t, b.pool, log.options()))
	}
	hot := []holder{b.open(total), b.open(total), b.open(total)}

	var settled atomic.Int64
	var counts [instances]atomic.Int64
	var all sync.WaitGroup
	for i, service := range services {
		for caller := range callers {
			all.Go(func() {
				for n := 0; settled.Load() < total; n++ {
					from := (caller + n) % len(hot)
					o := order(hot[from], hot[(from+1+n%2)%len(hot)], 1, fmt.Sprint(i, caller, n))
					if r, err := service.Transfer(context.Background(), o); err != nil || r.Status != 201 {
						t.Errorf("instance %d: %+v, %v", i, r, err)
						return
					}
					settled.Add(1)
					counts[i].Add(1)
				}
			})
		}
	}
	all.Wait()

	var got [instances]int64
	for i := range counts {
		got[i] = counts[i].Load()
		if fair := int64(total / instances); got[i] < fair/4 {
			t.Errorf("instance %d settled %d orders, want at least a quarter of its share of %d", i, got[i], fair)
		}
	}
	t.Logf("settled: %v", got)
	log.wantNone(t)
	b.wantNoDeadlock()
}

// wantNoDeadlock asks the server, which counts them.
func (b *bank) wantNoDeadlock() {
	b.t.Helper()
	var n int
	if err := b.pool.QueryRow(b.t.Context(), `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`).Scan(&n); err != nil || n != 0 {
		b.t.Errorf("%d deadlocks, %v; want none", n, err)
	}
}
