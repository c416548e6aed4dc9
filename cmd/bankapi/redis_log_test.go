package main

import (
	"bytes"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/bankapi/internal/ratelimit/redisstore"
)

// lines is a log that can be read while it is written.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.FieldsFunc(l.text.String(), func(r rune) bool { return r == '\n' })
}

// TestWhatGoRedisSaysIsInOurLog is not parallel: the library's logger is the process's.
func TestWhatGoRedisSaysIsInOurLog(t *testing.T) { //nolint:paralleltest // see above
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = nobody.Close()
	log := &lines{}
	logRedis(slog.New(slog.NewTextHandler(log, nil)))
	client, err := redisstore.Open("redis://" + nobody.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	start := time.Now()
	const calls = 50
	for range calls {
		if client.Ping(t.Context()).Err() == nil {
			t.Fatal("somebody answers where nobody listens")
		}
	}
	told, most := log.all(), 1+int(time.Since(start)/time.Second)
	if len(told) == 0 || len(told) > most {
		t.Errorf("%d lines for %d calls, want 1 to %d:\n%s", len(told), calls, most, strings.Join(told, "\n"))
	}
	for _, line := range told {
		if !strings.Contains(line, `level=WARN msg="redis client" said="`) || !strings.Contains(line, "failed to dial") {
			t.Errorf("got %s", line)
		}
	}
}
