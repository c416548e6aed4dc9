package tests

import (
	"testing"

	"example.com/bankapi/internal/dbtest"
)

// calm are the settings of a bank for a storm: no limit is met.
func calm(t *testing.T, database string) []string {
	t.Helper()
	return []string{"DATABASE_URL=" + database, "TRUSTED_PROXIES=127.0.0.1/32", "BANKAPI_DEMO=off", stormCredit,
		limitsFile(t, "user", generous, "ip", generous, "transfers-account", "quota: 10000, period: 1m")}
}

// TestTheLedgerIsLinearizable lets clients transfer, repeat themselves and each other, and read, all at once: what they
// are told is what a bank would say that does one thing at a time.
func TestTheLedgerIsLinearizable(t *testing.T) {
	t.Parallel()
	database := dbtest.URL(t)
	s := raise(t, start(t, calm(t, database)...))
	s.rage(func() { s.await(1200) })
	s.check()
	verify(t, database)
}

// TestTwoInstancesAreLinearizable has two banks share the ledger, and kills one of them, time and again, in the middle.
func TestTwoInstancesAreLinearizable(t *testing.T) {
	t.Parallel()
	database := dbtest.URL(t)
	settings := calm(t, database)
	s := raise(t, start(t, settings...), start(t, settings...))
	s.rage(func() {
		for round := range 5 {
			s.await(200)
			s.banks[round%2].Load().kill(t)
			s.await(50)
			s.banks[round%2].Store(start(t, settings...))
		}
		s.await(200)
	})
	if s.lost.Load() == 0 {
		t.Error("no answer was lost: the banks were not killed in the middle")
	}
	s.check()
	verify(t, database)
}

// TestKilledDatabaseIsLinearizable kills PostgreSQL, time and again, in the middle.
func TestKilledDatabaseIsLinearizable(t *testing.T) {
	t.Parallel()
	pg := dbtest.PrivatePostgres(t)
	s := raise(t, start(t, calm(t, pg.URL())...))
	s.rage(func() {
		for range 5 {
			s.await(200)
			pg.Kill()
			pg.Start()
		}
		s.await(200)
	})
	s.check()
	verify(t, pg.URL())
}
