package embedded

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func TestKeepsDataBetweenRuns(t *testing.T) {
	t.Parallel()
	opts := Options{Dir: filepath.Join(t.TempDir(), ".bankapi")}
	first := start(t, opts)
	run(t, first, "CREATE TABLE kept AS SELECT 1 AS n")
	if got := value(t, first, "SHOW fsync"); got != "on" {
		t.Errorf("fsync is %s: a bank's data must outlive a power cut", got)
	}
	if got := value(t, first, "SHOW listen_addresses"); got != "" {
		t.Errorf("listens on %q, want the socket only", got)
	}
	stop(t, first)
	if _, err := os.Stat(first.socketDir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("socket directory is left behind: %v", err)
	}
	second := start(t, opts)
	run(t, second, "INSERT INTO kept VALUES (2)")
}

func TestRefusesASecondServerAndHarmsNothing(t *testing.T) {
	t.Parallel()
	opts := Options{Dir: t.TempDir(), Throwaway: true}
	first := start(t, opts)
	_, err := Start(t.Context(), opts)
	if !errors.Is(err, ErrInUse) {
		t.Fatalf("second start: %v, want ErrInUse", err)
	}
	if pid := strconv.Itoa(os.Getpid()); !strings.Contains(err.Error(), pid) {
		t.Errorf("%q does not name the process that holds the directory, %s", err, pid)
	}
	run(t, first, "SELECT 1")

	joined, err := Join(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	run(t, joined, "SELECT 1")
	stop(t, joined)
	run(t, first, "SELECT 1")
}

// A program that is killed cannot stop its server.
func TestStartsAgainAfterTheProgramWasKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	killed(t, dir)
	server := start(t, Options{Dir: dir, Throwaway: true})
	run(t, server, "INSERT INTO kept VALUES (2)")
}

func TestStopsAServerThatIsLeftOver(t *testing.T) {
	t.Parallel()
	opts := Options{Dir: t.TempDir(), Throwaway: true}
	left := start(t, opts)
	if err := left.lock.release(); err != nil { // as if the program had died without its server
		t.Fatal(err)
	}
	next := start(t, opts)
	run(t, next, "SELECT 1")
	select {
	case <-left.Done():
	case <-time.After(5 * time.Second):
		t.Error("the server of the earlier run still runs")
	}
}

func TestStartsAgainAfterTheServerWasKilled(t *testing.T) {
	t.Parallel()
	opts := Options{Dir: t.TempDir(), Throwaway: true}
	first := start(t, opts)
	run(t, first, "CREATE TABLE kept AS SELECT 1 AS n")
	if err := syscall.Kill(first.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-first.Done()
	stop(t, first)
	second := start(t, opts)
	run(t, second, "INSERT INTO kept VALUES (2)")
}

// In a container process numbers are small and come again: the one in the file may be anybody's.
func TestStartsWhenTheNumberOfADeadServerIsReused(t *testing.T) {
	t.Parallel()
	opts := Options{Dir: t.TempDir(), Throwaway: true}
	first := start(t, opts)
	stop(t, first)
	bystander := exec.Command("sleep", "60")
	if err := bystander.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = bystander.Process.Kill()
		_ = bystander.Wait()
	}()
	stale := strconv.Itoa(bystander.Process.Pid) + "\n" + first.data + "\n0\n5432\n\n\n0 0\n"
	if err := os.WriteFile(filepath.Join(first.data, "postmaster.pid"), []byte(stale), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, start(t, opts), "SELECT 1")
	if err := bystander.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the bystander was hit: %v", err)
	}
}

func TestABrokenOffInitLeavesNothingInTheWay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if server, err := Start(ctx, Options{Dir: dir, Throwaway: true}); err == nil {
		t.Fatal("started in 30 ms: make the time-out shorter", server.Stop())
	}
	run(t, start(t, Options{Dir: dir, Throwaway: true}), "SELECT 1")
}

func TestALogEndsTheErrorOfAServerThatCannotStart(t *testing.T) {
	t.Parallel()
	_, err := Start(t.Context(), Options{Dir: t.TempDir(), Throwaway: true, Settings: []string{"no_such_setting=1"}})
	if err == nil || !strings.Contains(err.Error(), "no_such_setting") {
		t.Errorf("%v: want the server's own words", err)
	}
}

func TestRefusesASocketPathThatIsTooLong(t *testing.T) {
	t.Parallel()
	long := filepath.Join(t.TempDir(), strings.Repeat("x", 120))
	_, err := Start(t.Context(), Options{Dir: t.TempDir(), SocketDir: long, Throwaway: true})
	if err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("%v: want the limit named", err)
	}
}

func start(t *testing.T, opts Options) *Server {
	t.Helper()
	server, err := Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop() })
	return server
}

func stop(t *testing.T, s *Server) {
	t.Helper()
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, s *Server, sql string) {
	t.Helper()
	if err := execute(s.URL(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func execute(url, sql string) error {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql)
	return err
}

func value(t *testing.T, s *Server, sql string) (v string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if err := conn.QueryRow(t.Context(), sql).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}
