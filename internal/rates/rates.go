// Package rates reads the exchange rates that the bank publishes.
//
// A table says, for one base currency, what one unit of it buys of each other currency. Tables are published for every
// base (migrations/0004_rates.up.sql makes the first ones), so that nobody who reads has to divide, and a rate is a
// decimal number in a string all the way: numeric in PostgreSQL, text here, text on the wire. No float touches it.
package rates

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// ErrUnknownBase means that no rates are published for a base currency, or that it is no currency code at all.
var ErrUnknownBase = errors.New("no rates for this base currency")

// Table is what one unit of Base bought at AsOf. Rates maps a currency code to a positive decimal without exponent.
type Table struct {
	Base  string
	AsOf  time.Time
	Rates map[string]string
}

// Store reads published tables. It is safe for concurrent use.
type Store struct {
	Pool *pgxpool.Pool
}

const selectLatest = `
SELECT as_of, quote, rate::text
FROM rates
WHERE base = $1
  AND as_of = (SELECT max(as_of) FROM rates WHERE base = $1)`

// Latest returns the newest table for a base, an upper-case ISO 4217 code, or [ErrUnknownBase].
func (s Store) Latest(ctx context.Context, base string) (Table, error) {
	if !isCode(base) {
		return Table{}, ErrUnknownBase
	}
	rows, _ := s.Pool.Query(ctx, selectLatest, base) // ForEachRow returns the error
	table := Table{Base: base, Rates: map[string]string{}}
	var quote, rate string
	_, err := pgx.ForEachRow(rows, []any{&table.AsOf, &quote, &rate}, func() error {
		table.Rates[quote] = rate
		return nil
	})
	if err != nil {
		return Table{}, fmt.Errorf("read rates: %w", err)
	}
	if len(table.Rates) == 0 {
		return Table{}, ErrUnknownBase
	}
	table.AsOf = table.AsOf.UTC()
	return table, nil
}

// isCode reports whether s has the form of a currency code; the database need not be asked about anything else.
func isCode(s string) bool {
	if len(s) != 3 {
		return false
	}
	for _, c := range []byte(s) {
		if c < 'A' || c > 'Z' {
			return false
		}
	}
	return true
}
