package pgstore_test

import (
	"testing"
	"time"

	"example.com/bankapi/internal/dbtest"
	"example.com/bankapi/internal/ratelimit/storetest"
)

func TestWhenALimitChanges(t *testing.T) {
	t.Parallel()
	p := dbtest.Pool(t)
	storetest.Changes(t, func(*testing.T) storetest.Harness {
		clock := storetest.NewClock(time.UnixMicro(1_790_245_230_000_000))
		return storetest.Harness{Store: store(p, clock), Advance: clock.Advance, Algorithms: known}
	})
}
