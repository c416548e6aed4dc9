package postgres_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"example.com/bankapi/internal/dbtest"
	"example.com/bankapi/internal/postgres"
)

// Two transactions read what the other writes: under SERIALIZABLE one of each pair is ended and must run again.
func TestInTxRunsAgainWhatNeighboursSpoilt(t *testing.T) {
	t.Parallel()
	pool := dbtest.Pool(t)
	if _, err := pool.Exec(t.Context(), "CREATE TABLE counter AS SELECT 0 AS n"); err != nil {
		t.Fatal(err)
	}
	increment := func(tx pgx.Tx) error {
		var n int
		if err := tx.QueryRow(context.Background(), "SELECT n FROM counter").Scan(&n); err != nil {
			return err
		}
		_, err := tx.Exec(context.Background(), "UPDATE counter SET n = $1", n+1)
		return err
	}
	const writers = 3
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			if err := postgres.InTx(context.Background(), pool, pgx.TxOptions{IsoLevel: pgx.Serializable}, increment); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	var got int
	if err := pool.QueryRow(t.Context(), "SELECT n FROM counter").Scan(&got); err != nil || got != writers {
		t.Errorf("got %d, %v, want %d", got, err, writers)
	}
}

func TestInTxGivesUpInTheEnd(t *testing.T) {
	t.Parallel()
	runs := 0
	err := postgres.InTx(t.Context(), dbtest.Pool(t), pgx.TxOptions{}, func(tx pgx.Tx) error {
		runs++
		_, err := tx.Exec(t.Context(), "DO $$ BEGIN RAISE SQLSTATE '40P01'; END $$")
		return err
	})
	if !postgres.Retryable(err) || runs < 2 || runs > 10 {
		t.Errorf("%d runs, then %v", runs, err)
	}
}

func TestInTxDoesNotRepeatOtherErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	runs := 0
	err := postgres.InTx(t.Context(), dbtest.Pool(t), pgx.TxOptions{}, func(pgx.Tx) error {
		runs++
		return broken
	})
	if !errors.Is(err, broken) || runs != 1 {
		t.Errorf("%d runs, then %v", runs, err)
	}
}
