package main

import (
	"bufio"
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/bankapi/internal/load"
)

// peerClients is how many clients pgbench has where it is compared: more than that make it slower on a small machine.
const peerClients = 32

//go:embed peer.sql *.pgbench
var peerFiles embed.FS

// peer is pgbench and the ledger it works on.
type peer struct {
	server   *server
	program  string
	url      string
	dir      string // of scripts and logs
	accounts int
	dialling time.Duration // the longest time it took to connect, which pgbench counts as its own
}

func newPeer(ctx context.Context, s *server, dir string, users int) (*peer, error) {
	p := &peer{server: s, program: filepath.Join(s.Bin(), "pgbench"), dir: dir, accounts: users * accountsEach}
	if _, err := os.Stat(p.program); err != nil {
		return nil, fmt.Errorf("%w: install it (Debian, Ubuntu: apt-get install postgresql-contrib)", err)
	}
	var err error
	if p.url, err = s.database(ctx, "peer"); err != nil {
		return nil, err
	}
	return p, p.fill(ctx)
}

// fill makes as many users and accounts as the bank has.
func (p *peer) fill(ctx context.Context) error {
	const (
		users    = `INSERT INTO users SELECT n, 'user' || n || '@example.com' FROM generate_series(1, $1::bigint) AS n`
		accounts = `INSERT INTO accounts (id, owner_id, currency, balance) SELECT n, (n - 1) / $2 + 1, $3, 1000000000000 FROM generate_series(1, $1::bigint) AS n`
	)
	schema, err := peerFiles.ReadFile("peer.sql")
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, p.url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, string(schema)); err != nil {
		return fmt.Errorf("peer.sql: %w", err)
	}
	if _, err := conn.Exec(ctx, users, p.accounts/accountsEach); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, accounts, p.accounts, accountsEach, load.Currency); err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "VACUUM ANALYZE")
	return err
}

// run lets clients transfer, one transfer a transaction.
func (p *peer) run(ctx context.Context, script string, hot bool, clients int, warmUp, length time.Duration) (sample, error) {
	file, err := p.script(script, hot)
	if err != nil {
		return sample{}, err
	}
	logs := filepath.Join(p.dir, "pgbench")
	seconds := int((warmUp + length + p.dialling + 2*time.Second - 1) / time.Second)
	cmd := exec.CommandContext(ctx, p.program, "--no-vacuum", "--protocol=prepared", "--log", "--log-prefix="+logs,
		"--client="+strconv.Itoa(clients), "--jobs="+strconv.Itoa(min(clients, runtime.NumCPU())), "--time="+strconv.Itoa(seconds),
		"--define=accounts="+strconv.Itoa(p.accounts), "--define=each="+strconv.Itoa(accountsEach), "--file="+file, p.url)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PG") })
	used, err := p.server.cpu()
	if err != nil {
		return sample{}, err
	}
	begun := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		return sample{}, errors.Join(context.Cause(ctx), fmt.Errorf("pgbench %s: %w\n%s", script, err, out))
	}
	after, err := p.server.cpu()
	if err != nil {
		return sample{}, err
	}
	s, first, err := readLogs(logs+".*", warmUp, length)
	if err != nil {
		return sample{}, err
	}
	p.dialling = max(p.dialling, first.Sub(begun))
	s.cpu = cost{client: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), database: after - used}
	return s, nil
}

// script writes the file that pgbench is to run.
func (p *peer) script(name string, hot bool) (string, error) {
	accounts := "uniform.pgbench"
	if hot {
		accounts = "hot.pgbench"
	}
	var text []byte
	for _, part := range []string{accounts, "common.pgbench", name + ".pgbench"} {
		lines, err := peerFiles.ReadFile(part)
		if err != nil {
			return "", err
		}
		text = append(text, lines...)
	}
	file := filepath.Join(p.dir, "script.pgbench")
	return file, os.WriteFile(file, text, 0o600)
}

// audit checks that pgbench's ledger adds up, and returns how many transfers it holds.
func (p *peer) audit(ctx context.Context) (int64, error) {
	const query = `
SELECT (SELECT count(*) FROM transfers), (SELECT count(*) FROM idempotency_keys),
       (SELECT sum(balance) FROM accounts)::bigint - (SELECT count(*) FROM accounts) * 1000000000000,
       (SELECT count(*) FROM accounts AS a WHERE balance - 1000000000000 <>
           (SELECT coalesce(sum(amount), 0) FROM transfers WHERE to_account = a.id) -
           (SELECT coalesce(sum(amount), 0) FROM transfers WHERE from_account = a.id))`
	conn, err := pgx.Connect(ctx, p.url)
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx)
	var transfers, keys, surplus, wrong int64
	if err := conn.QueryRow(ctx, query).Scan(&transfers, &keys, &surplus, &wrong); err != nil {
		return 0, err
	}
	if transfers != keys || surplus != 0 || wrong != 0 {
		return 0, fmt.Errorf("pgbench's ledger does not add up: %d transfers, %d keys, %d too much money, %d wrong balances", transfers, keys, surplus, wrong)
	}
	return transfers, nil
}

// readLogs reads pgbench's lines, one a transaction, and removes them: client, number, latency in µs, script, and the
// moment of the end in seconds and µs. It also returns when the first transaction ended.
func readLogs(pattern string, warmUp, length time.Duration) (s sample, first time.Time, err error) {
	files, err := filepath.Glob(pattern)
	if err != nil {
		return sample{}, first, err
	}
	var ends []time.Time
	var latencies []time.Duration
	for _, name := range files {
		e, l, err := readLog(name)
		if err != nil {
			return sample{}, first, err
		}
		ends, latencies = append(ends, e...), append(latencies, l...)
		if err := os.Remove(name); err != nil {
			return sample{}, first, err
		}
	}
	if len(ends) == 0 {
		return sample{odd: errors.New("pgbench finished no transaction")}, first, nil
	}
	first = slices.MinFunc(ends, time.Time.Compare)
	from := first.Add(warmUp)
	// Where dialling took longer than ever before, less time is left than was asked for.
	measured := min(length, slices.MaxFunc(ends, time.Time.Compare).Sub(from))
	if measured < length/2 {
		return sample{odd: fmt.Errorf("pgbench worked for %v of %v: the machine is too busy", measured, length), done: int64(len(ends))}, first, nil
	}
	var timed []time.Duration
	for i, end := range ends {
		if !end.Before(from) && end.Before(from.Add(measured)) {
			timed = append(timed, latencies[i])
		}
	}
	return newSample(timed, measured, int64(len(ends))), first, nil
}

func readLog(name string) (ends []time.Time, latencies []time.Duration, err error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var client, number, script int
		var latency, seconds, micros int64
		if _, err := fmt.Sscan(lines.Text(), &client, &number, &latency, &script, &seconds, &micros); err != nil {
			return nil, nil, fmt.Errorf("%s: %q: %w", name, lines.Text(), err)
		}
		ends = append(ends, time.Unix(seconds, micros*1000))
		latencies = append(latencies, time.Duration(latency)*time.Microsecond)
	}
	return ends, latencies, lines.Err()
}
