package transfers_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/bankapi/internal/transfers"
)

// A server that has become read-only, as a standby is, may be the primary again in a moment.
func TestServerBecomesReadOnly(t *testing.T) {
	t.Parallel()
	b := openBank(t, transfers.Options{})
	database := pgx.Identifier{b.pool.Config().ConnConfig.Database}.Sanitize()
	b.wantOutageToPass("25006", b.pool,
		"ALTER DATABASE "+database+" SET default_transaction_read_only = on",
		"ALTER DATABASE "+database+" RESET default_transaction_read_only")
}

// A server that has no connection to spare may have one in a moment.
func TestServerHasTooManyConnections(t *testing.T) {
	t.Parallel()
	b := openBank(t, transfers.Options{})
	pool := b.asOrdinaryRole()
	role := pool.Config().ConnConfig.User
	b.wantOutageToPass("53300", pool, "ALTER ROLE "+role+" CONNECTION LIMIT 0", "ALTER ROLE "+role+" CONNECTION LIMIT -1")
}

// asOrdinaryRole returns a pool whose connections are no superuser's: a superuser is let in always.
func (b *bank) asOrdinaryRole() *pgxpool.Pool {
	b.t.Helper()
	config := b.pool.Config()
	owner, role, password := config.ConnConfig.User, "test_"+strings.ToLower(rand.Text()), rand.Text()
	b.exec("CREATE ROLE " + role + " LOGIN PASSWORD '" + password + "'")
	b.t.Cleanup(func() {
		if _, err := b.pool.Exec(context.Background(), "DROP ROLE "+role); err != nil {
			b.t.Error(err)
		}
	})
	b.exec("GRANT " + pgx.Identifier{owner}.Sanitize() + " TO " + role)
	config.ConnConfig.User, config.ConnConfig.Password = role, password
	pool, err := pgxpool.NewWithConfig(b.t.Context(), config)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(pool.Close)
	return pool
}

// wantOutageToPass cuts the writers' connections and lets the server refuse new ones, or what is done on them, with the
// code. Who has little patience says so and leaves the key free; who has more sits it out.
func (b *bank) wantOutageToPass(code string, pool *pgxpool.Pool, begin, end string) {
	t := b.t
	t.Helper()
	var hastyLog, patientLog mishaps
	options := hastyLog.options()
	options.Patience = 1500 * time.Millisecond
	hasty, patient := start(t, pool, options), start(t, pool, patientLog.options())
	ada, grace := b.open(100), b.open(0)
	if r, err := patient.Transfer(t.Context(), order(ada, grace, 1, "before")); err != nil || r.Status != 201 {
		t.Fatalf("before the outage: %+v, %v", r, err)
	}
	admin, err := b.pool.Acquire(t.Context()) // its settings are those of its beginning
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Release()
	const hangUp = `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'bankapi-ledger'`
	for _, sql := range []string{begin, hangUp} {
		if _, err := admin.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}

	if r, err := hasty.Transfer(t.Context(), order(ada, grace, 10, "hasty")); !errors.Is(err, transfers.ErrOverloaded) {
		t.Errorf("during the outage: %+v, %v", r, err)
	}
	hastyLog.await(t, code)
	sitsOut := make(chan error, 1)
	go func() {
		r, err := patient.Transfer(t.Context(), order(ada, grace, 20, "patient"))
		if err == nil && (r.Status != 201 || r.Replayed) {
			err = fmt.Errorf("%+v", r)
		}
		sitsOut <- err
	}()
	patientLog.await(t, code)
	if _, err := admin.Exec(t.Context(), end); err != nil {
		t.Fatal(err)
	}
	if err := <-sitsOut; err != nil {
		t.Errorf("an order that met the end of the outage: %v", err)
	}
	if r, err := patient.Transfer(t.Context(), order(ada, grace, 10, "hasty")); err != nil || r.Status != 201 || r.Replayed {
		t.Errorf("the key that was left free: %+v, %v", r, err)
	}
	b.wantBalance(ada, 100-1-10-20)
}

// await returns once the log names the code.
func (m *mishaps) await(t testing.TB, code string) {
	t.Helper()
	for range 500 {
		m.mu.Lock()
		found := bytes.Contains(m.text.Bytes(), []byte(code))
		m.mu.Unlock()
		if found {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("nothing met %s:\n%s", code, &m.text)
}

// Whatever the server says of its own state passes: the batch is tried again, as a whole, and happens once. It makes no
// difference whether a statement fails or COMMIT does.
func TestErrorsOfTheServerAreTriedAgain(t *testing.T) {
	t.Parallel()
	const inStatement = `CREATE TRIGGER mishap AFTER INSERT ON idempotency_keys FOR EACH ROW EXECUTE FUNCTION mishap()`
	const atCommit = `CREATE CONSTRAINT TRIGGER mishap AFTER INSERT ON idempotency_keys DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION mishap()`
	for name, trigger := range map[string]string{"in a statement": inStatement, "at COMMIT": atCommit} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log mishaps
			b := openBank(t, log.options())
			ada, grace := b.open(1000), b.open(0)
			b.exec(`CREATE SEQUENCE mishaps`)
			b.mishap("40001", 0)
			b.exec(trigger)
			codes := []string{
				"40001", "40P01", // serialization failure, deadlock
				"57P01", "57P03", "57014", // shut down, starting up, cancelled
				"53100", "53200", "53300", // no disk, no memory, no connections
				"25006", "55P03", "58030", "XX000", // read-only, lock not available, I/O error, something inside
			}
			for _, code := range codes {
				b.mishap(code, 2)
				parallel(5, func(i int) {
					if r := b.mustSend(order(ada, grace, 1, fmt.Sprint(code, i)), 201); r.Replayed {
						t.Errorf("%s: an order is its own replay", code)
					}
				})
				log.await(t, code)
			}
			b.wantBalance(grace, transfers.Amount(5*len(codes)))
		})
	}
}

// mishap has the next n rows of keys fail with the code, whatever becomes of their transactions.
func (b *bank) mishap(code string, n int) {
	b.t.Helper()
	b.exec(`SELECT setval('mishaps', 1000)`)
	b.exec(fmt.Sprintf(`
		CREATE OR REPLACE FUNCTION mishap() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN
			IF nextval('mishaps') <= %d THEN
				RAISE EXCEPTION 'a mishap' USING ERRCODE = '%s';
			END IF;
			RETURN NULL;
		END $$`, 1000+n, code))
}

// A deadlock that the server really finds: somebody by hand locks the same accounts the other way round. The writer is
// the one who is told, and tries again.
func TestDeadlockWithAStranger(t *testing.T) {
	t.Parallel()
	var log mishaps
	b := openBank(t, log.options())
	low, high := b.open(100), b.open(100) // ids rise
	if bytes.Compare(low.account[:], high.account[:]) > 0 {
		low, high = high, low
	}
	stranger, err := b.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Rollback(context.Background())
	lock := func(h holder) {
		if _, err := stranger.Exec(t.Context(), `SELECT FROM accounts WHERE id = $1 FOR UPDATE`, h.account); err != nil {
			t.Errorf("the stranger: %v", err)
		}
	}
	if _, err := stranger.Exec(t.Context(), `SET LOCAL deadlock_timeout = '1h'`); err != nil {
		t.Fatal(err)
	}
	lock(high)
	answered := make(chan transfers.Receipt, 1)
	go func() { answered <- b.mustSend(order(low, high, 60, "k"), 201) }()
	b.awaitLockWait()
	lock(low)
	log.await(t, "40P01")
	if err := stranger.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := <-answered; r.Replayed {
		t.Errorf("the order is its own replay: %+v", r)
	}
	b.await(`SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`) // it would tell wantNoDeadlock
	b.wantBalance(low, 40)
}
