package pgstore_test

import (
	"testing"
	"time"

	"example.com/bankapi/internal/dbtest"
	"example.com/bankapi/internal/ratelimit"
	"example.com/bankapi/internal/ratelimit/pgstore"
	"example.com/bankapi/internal/ratelimit/storetest"
)

func TestAnswersAsMemoryDoesAroundMidnight(t *testing.T) {
	t.Parallel()
	storetest.ReplayMidnight(t, onClocks(t))
}

func TestADayEndsByTheDatabasesClock(t *testing.T) {
	t.Parallel()
	storetest.DayEndsByTheServersClock(t, onClocks(t))
}

func TestADayOnClocksADayApartIsAnError(t *testing.T) {
	t.Parallel()
	storetest.DayOnClocksADayApartIsAnError(t, onClocks(t))
}

func onClocks(t *testing.T) storetest.OnClocks {
	t.Helper()
	pool := dbtest.Pool(t)
	return func(_ *testing.T, server, here func() time.Time) ratelimit.Store {
		s := pgstore.New(pool)
		pgstore.SetClocks(s, server, here)
		return s
	}
}
