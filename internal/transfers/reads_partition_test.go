package transfers_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"example.com/bankapi/internal/id"
	"example.com/bankapi/internal/transfers"
)

// Transfers can be partitioned by time under the running bank: the same writer goes on, statements, lists and the audit
// see the whole history, the guards hold on every part, and a part can be taken off and put back.
func TestTransfersCanBePartitionedUnderTheRunningBank(t *testing.T) {
	t.Parallel()
	var log mishaps
	b := openBank(t, log.options())
	ada, grace := b.open(1000), b.open(1000)
	sent := b.sendMany(ada, grace, "before", 30)

	boundary := uuid(id.New())
	sql, err := os.ReadFile("testdata/partition.sql")
	if err != nil {
		t.Fatal(err)
	}
	b.simply(strings.NewReplacer("{boundary}", boundary, "{end}", "ffffffff-0000-7000-8000-000000000000").Replace(string(sql)))
	sent = append(sent, b.sendMany(ada, grace, "after", 30)...)
	for table, want := range map[string]int{"transfers_first": 32, "transfers_second": 30} { // two opening credits
		var rows int
		if err := b.pool.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&rows); err != nil || rows != want {
			t.Errorf("%s has %d rows, %v; want %d", table, rows, err, want)
		}
	}
	b.audit()
	b.wantHistory(ada, 61)
	for _, transfer := range sent {
		if _, err := b.GetTransfer(t.Context(), ada.owner, transfer); err != nil {
			t.Errorf("transfer %v: %v", transfer, err)
		}
	}
	if r := b.mustSend(order(ada, grace, 1, "before0"), 201); !r.Replayed || r.Transfer != sent[0] {
		t.Errorf("a key from before is answered %+v, want a replay", r)
	}
	b.wantGuarded("transfers", "transfers_first", "transfers_second")

	b.exec("ALTER TABLE transfers DETACH PARTITION transfers_first")
	b.wantHistory(ada, 30)
	b.simply(strings.ReplaceAll("ALTER TABLE transfers ATTACH PARTITION transfers_first FOR VALUES FROM (MINVALUE) TO ('{boundary}')", "{boundary}", boundary))
	b.wantHistory(ada, 61)
	log.wantNone(t)
}

func (b *bank) sendMany(from, to holder, key string, n int) (sent []transfers.TransferID) {
	b.t.Helper()
	for i := range n {
		sent = append(sent, b.mustSend(order(from, to, 1, fmt.Sprint(key, i)), 201).Transfer)
	}
	return sent
}

// simply runs several statements, as psql would.
func (b *bank) simply(sql string) {
	b.t.Helper()
	if _, err := b.pool.Exec(b.t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
		b.t.Fatal(err)
	}
}

// wantHistory reads the statement and the list to their ends.
func (b *bank) wantHistory(h holder, want int) {
	b.t.Helper()
	var entries, listed int
	for page, more := (transfers.Page{Limit: 7}), true; more; {
		rows, older, err := b.Entries(b.t.Context(), h.owner, h.account, page)
		if err != nil {
			b.t.Fatal(err)
		}
		entries, more, page.Before = entries+len(rows), older, rows[len(rows)-1].Transfer
	}
	for page, more := (transfers.Page{Limit: 7}), true; more; {
		rows, older, err := b.Transfers(b.t.Context(), h.owner, page)
		if err != nil {
			b.t.Fatal(err)
		}
		listed, more, page.Before = listed+len(rows), older, rows[len(rows)-1].ID
	}
	if entries != want || listed != want {
		b.t.Errorf("%d entries, %d transfers listed; want %d", entries, listed, want)
	}
}

// wantGuarded tries to change, remove and make up transfers by the name of each table.
func (b *bank) wantGuarded(tables ...string) {
	b.t.Helper()
	const insert = `
INSERT INTO {table} (id, from_account, to_account, amount, from_sequence, from_balance, to_sequence, to_balance, currency, created_at)
SELECT overlay(id::text PLACING 'fff' FROM 34)::uuid, from_account, to_account, amount, from_sequence, from_balance, to_sequence, to_balance, currency, created_at
FROM {table} LIMIT 1`
	for _, table := range tables {
		for sql, guard := range map[string]string{
			"UPDATE {table} SET amount = 1": "transfers_never_change",
			"DELETE FROM {table}":           "transfers_never_change",
			"TRUNCATE {table}":              "transfers_never_change",
			insert:                          "transfers_are_posted",
		} {
			_, err := b.pool.Exec(b.t.Context(), strings.ReplaceAll(sql, "{table}", table))
			if refusal, ok := errors.AsType[*pgconn.PgError](err); !ok || refusal.ConstraintName != guard {
				b.t.Errorf("%s: %v; want a violation of %s", strings.ReplaceAll(sql, "{table}", table), err, guard)
			}
		}
	}
}

func uuid(i id.ID) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", i[:4], i[4:6], i[6:8], i[8:10], i[10:])
}
