package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"example.com/bankapi/internal/postgres"
	"example.com/bankapi/internal/transfers"
)

type verifyCommand struct{}

// Run audits the ledger in one snapshot. A broken promise is an error, so that scripts notice.
func (verifyCommand) Run(ctx context.Context, p *program) (err error) {
	db, err := existingDatabase(ctx, p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.stop()) }()
	pool, err := postgres.Open(ctx, db.url, postgres.Options{AppName: "bankapi-verify", MaxConns: 1})
	if err != nil {
		return err
	}
	defer pool.Close()
	report, err := transfers.New(pool, transfers.Options{Log: p.log}).Integrity(ctx)
	if err != nil {
		return err
	}
	printReport(p.out, report)
	if !report.OK() {
		return fmt.Errorf("the ledger does not add up: %d faults", len(report.Faults))
	}
	return nil
}

func printReport(out io.Writer, r transfers.Report) {
	fmt.Fprintf(out, "%d accounts, %d transfers\n", r.Accounts, r.Transfers)
	for _, c := range r.Currencies {
		fmt.Fprintf(out, "%s  all balances add up to %d\n", c.Currency, c.Sum)
	}
	for _, fault := range r.Faults {
		fmt.Fprintf(out, "FAULT  %s: %s\n", fault.Where, fault.What)
	}
	if r.OK() {
		fmt.Fprintln(out, "ok: sums are 0, balances equal their entries, sequences have no gaps")
	}
}
