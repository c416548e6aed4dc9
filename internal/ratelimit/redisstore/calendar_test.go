package redisstore_test

import (
	"testing"
	"time"

	"example.com/bankapi/internal/dbtest"
	"example.com/bankapi/internal/ratelimit"
	"example.com/bankapi/internal/ratelimit/redisstore"
	"example.com/bankapi/internal/ratelimit/storetest"
)

func TestAnswersAsMemoryDoesAroundMidnight(t *testing.T) {
	t.Parallel()
	storetest.ReplayMidnight(t, onClocks(t))
}

func TestADayEndsByTheServersClock(t *testing.T) {
	t.Parallel()
	storetest.DayEndsByTheServersClock(t, onClocks(t))
}

func TestADayOnClocksADayApartIsAnError(t *testing.T) {
	t.Parallel()
	storetest.DayOnClocksADayApartIsAnError(t, onClocks(t))
}

func onClocks(t *testing.T) storetest.OnClocks {
	t.Helper()
	url := dbtest.RedisURL(t)
	return func(t *testing.T, server, here func() time.Time) ratelimit.Store {
		s := open(t, url, nil)
		redisstore.SetClocks(s, server, here)
		return s
	}
}
