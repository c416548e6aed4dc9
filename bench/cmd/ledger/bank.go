package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/bankapi/bench"
	"example.com/bankapi/internal/load"
	"example.com/bankapi/internal/postgres"
)

// bank is the real program on a database of its own, with all its limits, and its log in a file.
type bank struct {
	*process
	program string
	dir     string // of logs and the policy file
	url     string // of the database
	crowd   *load.Crowd
}

// build compiles the bank that this module stands beside.
func build(ctx context.Context, dir string) (string, error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "example.com/bankapi").Output()
	if err != nil {
		return "", fmt.Errorf("find the bank's source: %w; start this below bench/", err)
	}
	program := filepath.Join(dir, "bankapi")
	cmd := exec.CommandContext(ctx, "go", "build", "-C", strings.TrimSpace(string(root)), "-buildvcs=false", "-o", program, "./cmd/bankapi")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the bank: %w\n%s", err, out)
	}
	return program, nil
}

// startBank starts program, or one that it builds.
func startBank(ctx context.Context, s *server, program, dir string, users int) (*bank, error) {
	b := &bank{program: program, dir: dir}
	var err error
	if program == "" {
		if b.program, err = build(ctx, dir); err != nil {
			return nil, err
		}
	}
	if b.url, err = s.database(ctx, "bank"); err != nil {
		return nil, err
	}
	if err := b.command(ctx, "migrate", "up").Run(); err != nil {
		return nil, fmt.Errorf("bankapi migrate up: %w", err)
	}
	if err := b.gather(ctx, users); err != nil {
		return nil, err
	}
	if err := os.WriteFile(b.limits(), load.Limits(), 0o600); err != nil {
		return nil, err
	}
	b.process, err = b.serve(ctx, "bank.log")
	return b, err
}

func (b *bank) limits() string { return filepath.Join(b.dir, "limits.yaml") }

// gather makes the users. Nothing of that is measured, so it need not wait for the disk.
func (b *bank) gather(ctx context.Context, users int) error {
	pool, err := postgres.Open(ctx, b.url+"&synchronous_commit=off", postgres.Options{AppName: "bench", MaxConns: 4})
	if err != nil {
		return err
	}
	defer pool.Close()
	bar := bench.StartBar("users", users)
	defer bar.Close()
	if b.crowd, err = load.Gather(ctx, pool, users, accountsEach, bar.Step); err != nil {
		return err
	}
	_, err = pool.Exec(ctx, "VACUUM ANALYZE")
	return err
}

// command runs the bank with nothing in its environment but what it needs.
func (b *bank) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, b.program, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "DATABASE_URL=" + b.url}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second
	return cmd
}

var apiLine = regexp.MustCompile(`API +http://(\S+)`)

// serve starts an instance and returns once it says where it listens.
func (b *bank) serve(ctx context.Context, logName string) (*process, error) {
	log, err := os.Create(filepath.Join(b.dir, logName))
	if err != nil {
		return nil, err
	}
	defer log.Close() // the instance has its own
	p := &process{cmd: b.command(ctx, "serve")}
	p.cmd.Env = append(p.cmd.Env, "BANKAPI_LISTEN=127.0.0.1:0", "BANKAPI_ADMIN_LISTEN=off", "BANKAPI_DEMO=off",
		"BANKAPI_LOG_FORMAT=json", "LIMITS_FILE="+b.limits())
	p.cmd.Stderr = log
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if found := apiLine.FindStringSubmatch(lines.Text()); found != nil {
			p.address = found[1]
			go func() { // what else it says, until it ends
				for lines.Scan() {
				}
			}()
			return p, nil
		}
	}
	return nil, errors.Join(fmt.Errorf("the bank does not start: see %s", logName), p.cmd.Wait())
}

// audit runs `bankapi verify`, and returns how many transfers the bank holds besides the opening credits.
func (b *bank) audit(ctx context.Context) (int64, error) {
	const query = `
SELECT (SELECT count(*) FROM transfers) - (SELECT count(*) FROM accounts WHERE owner_id IS NOT NULL),
       (SELECT count(*) FROM idempotency_keys WHERE status = 201)`
	if out, err := b.command(ctx, "verify").CombinedOutput(); err != nil {
		return 0, fmt.Errorf("bankapi verify: %w\n%s", err, out)
	}
	pool, err := pgxpool.New(ctx, b.url)
	if err != nil {
		return 0, err
	}
	defer pool.Close()
	var transfers, keys int64
	if err := pool.QueryRow(ctx, query).Scan(&transfers, &keys); err != nil {
		return 0, err
	}
	if transfers != keys {
		return 0, fmt.Errorf("%d transfers have %d keys", transfers, keys)
	}
	return transfers, nil
}

// stop ends an instance in good order.
func (p *process) stop() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself: Wait tells
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("the bank: %w: see its log", err)
	}
	return nil
}
