package policyfile_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.com/bankapi/internal/ratelimit/policyfile"
)

// journal is a log that can be read while it is written.
type journal struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.String()
}

// watched is a limits file that is being watched.
type watched struct {
	*policyfile.Live
	path   string
	log    *journal
	signal chan os.Signal
}

func watch(t *testing.T) watched {
	t.Helper()
	w := watched{path: filepath.Join(t.TempDir(), "limits.yaml"), log: &journal{}, signal: make(chan os.Signal)}
	w.write(t, policyfile.DefaultFile())
	var err error
	if w.Live, err = policyfile.Open(w.path, nil); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.Watch(ctx, slog.New(slog.NewTextHandler(w.log, nil)), w.signal)
	}()
	t.Cleanup(func() { stop(); <-ended })
	return w
}

// write replaces the file as editors do.
func (w watched) write(t *testing.T, text []byte) {
	t.Helper()
	if err := os.WriteFile(w.path+".new", text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(w.path+".new", w.path); err != nil {
		t.Fatal(err)
	}
}

func (w watched) burst() int64 { return w.Current().IP.Limit.Burst }

// eventually waits for what the next looks at the file must bring about.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for range 500 {
		if holds() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("not within five seconds: %s", what)
}

func TestAChangedFileIsReadAgain(t *testing.T) {
	t.Parallel()
	w := watch(t)
	w.write(t, change(t, "burst: 300", "burst: 301"))
	eventually(t, "a burst of 301", func() bool { return w.burst() == 301 })
}

func TestABadFileIsRefusedWithItsFaultsAndTheOldOneStays(t *testing.T) {
	t.Parallel()
	w := watch(t)
	w.write(t, change(t, "burst: 300", "burst: 0"))
	eventually(t, "a fault in the log", func() bool { return strings.Contains(w.log.String(), "field=policies.ip.burst") })
	time.Sleep(1500 * time.Millisecond)
	if n := strings.Count(w.log.String(), "limits file refused"); n != 1 {
		t.Errorf("the fault was logged %d times, want once", n)
	}
	if w.burst() != 300 {
		t.Errorf("burst %d, want the old one", w.burst())
	}
	if err := os.Remove(w.path); err != nil {
		t.Fatal(err)
	}
	w.signal <- syscall.SIGHUP
	eventually(t, "a missing file in the log", func() bool { return strings.Contains(w.log.String(), "no such file") })
	w.write(t, change(t, "burst: 300", "burst: 302"))
	eventually(t, "a burst of 302", func() bool { return w.burst() == 302 })
}

func TestASignalReadsAtOnce(t *testing.T) {
	t.Parallel()
	w := watch(t)
	w.write(t, change(t, "burst: 300", "burst: 303"))
	w.signal <- syscall.SIGHUP
	w.signal <- syscall.SIGHUP // accepted once the first was worked on
	if w.burst() != 303 {
		t.Errorf("burst %d, want 303", w.burst())
	}
}

func TestTheBuiltInFileIsNotWatched(t *testing.T) {
	t.Parallel()
	live, err := policyfile.Open("", nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	log, signal, ended := &journal{}, make(chan os.Signal), make(chan struct{})
	go func() {
		defer close(ended)
		live.Watch(ctx, slog.New(slog.NewTextHandler(log, nil)), signal)
	}()
	signal <- syscall.SIGHUP
	stop()
	<-ended
	if !strings.Contains(log.String(), "the built-in limits stay") {
		t.Errorf("got %s", log)
	}
}

func TestOpenNamesTheFileAndItsFaults(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "limits.yaml")
	if _, err := policyfile.Open(path, nil); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a missing file: %v", err)
	}
	if err := os.WriteFile(path, change(t, "burst: 300", "burst: 0"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := policyfile.Open(path, nil); err == nil || !strings.Contains(err.Error(), path+" is not used:\nline ") {
		t.Errorf("a bad file: %v", err)
	}
}
