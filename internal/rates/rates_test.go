package rates_test

import (
	"errors"
	"math/big"
	"regexp"
	"testing"
	"time"

	"example.com/bankapi/internal/dbtest"
	"example.com/bankapi/internal/rates"
)

func TestLatestHasEveryOtherCurrencyAsADecimal(t *testing.T) {
	t.Parallel()
	store := rates.Store{Pool: dbtest.Pool(t)}
	got, err := store.Latest(t.Context(), "NGN")
	if err != nil {
		t.Fatal(err)
	}
	if got.Base != "NGN" || got.Rates["USD"] != "0.000652" || got.AsOf != time.Date(2026, 9, 24, 0, 0, 0, 0, time.UTC) {
		t.Errorf("one naira buys %q dollars as of %v, want 0.000652", got.Rates["USD"], got.AsOf)
	}
	if _, self := got.Rates["NGN"]; self || len(got.Rates) < 10 {
		t.Errorf("%d rates, one of them of itself: %v", len(got.Rates), self)
	}
	decimal := regexp.MustCompile(`^(0|[1-9][0-9]*)(\.[0-9]*[1-9])?$`)
	for quote, rate := range got.Rates {
		if !decimal.MatchString(rate) || rate == "0" {
			t.Errorf("rate of %s is %q", quote, rate)
		}
	}
}

// There and back again costs only what six digits round away: at most 5 units in the sixth digit each way.
func TestRatesOfTwoBasesAgree(t *testing.T) {
	t.Parallel()
	store := rates.Store{Pool: dbtest.Pool(t)}
	dollar, err := store.Latest(t.Context(), "USD")
	if err != nil {
		t.Fatal(err)
	}
	tolerance := big.NewRat(11, 1_000_000)
	for quote, there := range dollar.Rates {
		table, err := store.Latest(t.Context(), quote)
		if err != nil {
			t.Fatalf("%s is quoted but has no table: %v", quote, err)
		}
		a, _ := new(big.Rat).SetString(there)
		b, _ := new(big.Rat).SetString(table.Rates["USD"])
		off := a.Mul(a, b)
		if off.Sub(off, big.NewRat(1, 1)).Abs(off).Cmp(tolerance) > 0 {
			t.Errorf("USD to %s and back is off by %s", quote, off.FloatString(9))
		}
	}
}

func TestANewerTableReplacesTheOlderOne(t *testing.T) {
	t.Parallel()
	pool := dbtest.Pool(t)
	_, err := pool.Exec(t.Context(), `INSERT INTO rates (base, quote, as_of, rate) VALUES ('NGN', 'USD', '2026-09-25T00:00:00Z', 0.00065)`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := rates.Store{Pool: pool}.Latest(t.Context(), "NGN")
	if err != nil || len(got.Rates) != 1 || got.Rates["USD"] != "0.00065" {
		t.Errorf("Latest = %+v, %v; want the table of the 25th", got, err)
	}
}

func TestUnknownBase(t *testing.T) {
	t.Parallel()
	store := rates.Store{Pool: dbtest.Pool(t)}
	for _, base := range []string{"", "XXX", "ngn", "NGN ", "NG\x00", "\xff\xff\xff", "N'N", "NGNN"} {
		if got, err := store.Latest(t.Context(), base); !errors.Is(err, rates.ErrUnknownBase) {
			t.Errorf("Latest(%q) = %+v, %v; want ErrUnknownBase", base, got, err)
		}
	}
}
