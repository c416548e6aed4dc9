package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// victimDir makes the test binary a program that starts a server there and waits to be killed.
const victimDir = "BANKAPI_EMBEDDED_VICTIM_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(victimDir); dir != "" {
		beVictim(dir)
	}
	os.Exit(m.Run())
}

func beVictim(dir string) {
	server, err := Start(context.Background(), Options{Dir: dir, Throwaway: true})
	if err == nil {
		err = execute(server.URL(), "CREATE TABLE IF NOT EXISTS kept (n int)")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("up")
	if os.Getenv(victimDir+"_EXIT") != "" {
		if err := server.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	time.Sleep(time.Minute)
}

// On Linux the kernel tells the server that its program is gone.
func TestEndsWithAProgramThatIsKilled(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has a signal for it; elsewhere the next Start does it")
	}
	dir := t.TempDir()
	pid := killed(t, dir)
	_, socketDir := readLock(filepath.Join(dir, "lock"))
	defer os.RemoveAll(socketDir)
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return
		}
	}
	t.Errorf("server process %d outlives its program", pid)
}

// killed runs a program with a server on dir, kills the program and tells what the server was.
func killed(t *testing.T, dir string) (pid int) {
	t.Helper()
	victim := exec.Command(os.Args[0])
	victim.Env = append(os.Environ(), victimDir+"="+dir)
	out, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatalf("the victim did not start: %v", err)
	}
	pid, err = serverPID(filepath.Join(dir, "postgres"))
	if err != nil {
		t.Fatal(err)
	}
	_ = victim.Process.Kill()
	_ = victim.Wait()
	return pid
}

// Root may not run PostgreSQL and an ordinary user may not change accounts: whoever runs the tests, the other way is
// tried too where it can be.
func TestRunsAsAnOrdinaryUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("the other tests are run by an ordinary user")
	}
	dir, err := os.MkdirTemp("/tmp", "bankapi-embedded-") //nolint:usetesting // the other user cannot enter t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	binary := filepath.Join(dir, "program")
	if err := errors.Join(copyFile(os.Args[0], binary), os.Chmod(dir, 0o755), os.Mkdir(filepath.Join(dir, "home"), 0o755),
		os.Chown(filepath.Join(dir, "home"), nobody, nobody)); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "home", ".bankapi")
	for range 2 {
		program := exec.Command(binary)
		program.Dir = "/"
		program.Env = append(os.Environ(), victimDir+"="+data, victimDir+"_EXIT=1", "TMPDIR=/tmp")
		program.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		if out, err := program.CombinedOutput(); err != nil {
			t.Fatalf("as an ordinary user: %v\n%s", err, out)
		}
	}
	// Root takes the same directory over without taking it away.
	run(t, start(t, Options{Dir: data, Throwaway: true}), "INSERT INTO kept VALUES (2)")
	info, err := os.Stat(filepath.Join(data, "postgres"))
	if err != nil {
		t.Fatal(err)
	}
	if owner := info.Sys().(*syscall.Stat_t).Uid; owner != nobody {
		t.Errorf("the data belongs to %d now", owner)
	}
}

// A clone under /root: the account cannot walk to its own data.
func TestRunsAsRootBelowADirectoryThatIsClosed(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	closed := t.TempDir()
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	server := start(t, Options{Dir: filepath.Join(closed, "clone", ".bankapi"), Throwaway: true})
	run(t, server, "CREATE TABLE kept AS SELECT 1 AS n")
	if got := value(t, server, "SELECT pg_reload_conf()::text"); got != "true" {
		t.Errorf("reload: %s", got)
	}
	info, err := os.Stat(server.data)
	if err != nil {
		t.Fatal(err)
	}
	if owner := info.Sys().(*syscall.Stat_t).Uid; owner == 0 {
		t.Error("the data belongs to root")
	}
	run(t, server, "CHECKPOINT")
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o755)
}
