package tests

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// binary is the real bankapi, built once by TestMain.
var binary string

func TestMain(m *testing.M) {
	os.Exit(runMain(m))
}

func runMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "bankapi-tests-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "bankapi")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", binary, "../cmd/bankapi")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build bankapi: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// server is one running bankapi process.
type server struct {
	URL   string
	Admin string

	cmd    *exec.Cmd
	exited chan error
	log    *transcript
}

// transcript keeps what a process prints, so that a failing test can show it.
type transcript struct {
	mu    sync.Mutex
	lines []string
}

func (l *transcript) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
}

func (l *transcript) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}

// start runs `bankapi serve` with the settings given as NAME=value and waits until it is ready. The process is stopped
// and must have exited with 0 when the test ends, unless the test ended it itself.
func start(t *testing.T, settings ...string) *server {
	t.Helper()
	s := launch(t, settings...)
	s.waitReady(t)
	return s
}

// launch starts the process without waiting for it to be ready; it returns once the addresses are printed.
func launch(t *testing.T, settings ...string) *server {
	t.Helper()
	cmd := exec.Command(binary, "serve")
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TMPDIR=" + os.TempDir(),
		"BANKAPI_LISTEN=127.0.0.1:0", "BANKAPI_ADMIN_LISTEN=127.0.0.1:0",
	}, settings...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &server{cmd: cmd, exited: make(chan error, 1), log: &transcript{}}
	addresses := make(chan string, 2)
	go s.read(out, addresses)
	t.Cleanup(func() { s.cleanUp(t) })
	for _, into := range []*string{&s.URL, &s.Admin} {
		select {
		case *into = <-addresses:
		case err := <-s.exited:
			s.exited <- err
			t.Fatalf("bankapi ended before it listened: %v\n%s", err, s.log)
		case <-time.After(90 * time.Second):
			t.Fatalf("bankapi printed no address within 90 s:\n%s", s.log)
		}
	}
	return s
}

var (
	apiLine   = regexp.MustCompile(`(?i)api\s.*?(http://127\.0\.0\.1:\d+)`)
	adminLine = regexp.MustCompile(`(?i)admin\s.*?(http://127\.0\.0\.1:\d+)`)
)

// read copies the process's output to the transcript and finds the addresses in it: the API's first, then admin's.
func (s *server) read(out io.Reader, addresses chan<- string) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	var api, admin string
	sent := false
	for lines.Scan() {
		s.log.add(lines.Text())
		if m := adminLine.FindStringSubmatch(lines.Text()); m != nil && admin == "" {
			admin = m[1]
		} else if m := apiLine.FindStringSubmatch(lines.Text()); m != nil && api == "" {
			api = m[1]
		}
		if api != "" && admin != "" && !sent {
			addresses <- api
			addresses <- admin
			sent = true
		}
	}
	s.exited <- s.cmd.Wait()
}

func (s *server) waitReady(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	for ctx.Err() == nil {
		request, _ := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/readyz", nil)
		if response, err := http.DefaultClient.Do(request); err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("bankapi was not ready within 60 s:\n%s", s.log)
}

// stop sends SIGTERM and returns the exit code.
func (s *server) stop(t *testing.T) int {
	t.Helper()
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	return s.wait(t)
}

// kill ends the process as a power cut would.
func (s *server) kill(t *testing.T) {
	t.Helper()
	_ = s.cmd.Process.Kill()
	s.wait(t)
}

// wait returns the exit code, -1 for a process that a signal ended. It may be called more than once.
func (s *server) wait(t *testing.T) int {
	t.Helper()
	select {
	case err := <-s.exited:
		s.exited <- err
		var exit *exec.ExitError
		switch {
		case err == nil:
			return 0
		case errors.As(err, &exit):
			return exit.ExitCode()
		}
		t.Fatalf("wait for bankapi: %v", err)
	case <-time.After(60 * time.Second):
		t.Fatalf("bankapi did not end within 60 s:\n%s", s.log)
	}
	return -1
}

func (s *server) cleanUp(t *testing.T) {
	select {
	case err := <-s.exited:
		s.exited <- err
	default:
		if code := s.stop(t); code != 0 {
			t.Errorf("bankapi ended with %d after SIGTERM:\n%s", code, s.log)
		}
	}
	if strings.Contains(s.log.String(), "panic:") || strings.Contains(s.log.String(), "DATA RACE") {
		t.Errorf("bankapi panicked:\n%s", s.log)
	}
}
