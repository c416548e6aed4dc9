package main

import (
	"net"
	"strings"
	"testing"
	"time"

	"example.com/bankapi/internal/logtest"
	"example.com/bankapi/internal/ratelimit/redisstore"
)

// TestWhatGoRedisSaysIsInOurLog is not parallel: the library's logger is the process's.
func TestWhatGoRedisSaysIsInOurLog(t *testing.T) { //nolint:paralleltest // see above
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = nobody.Close()
	log := &logtest.Buffer{}
	logRedis(log.Logger())
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
	told, most := strings.Split(strings.TrimSpace(log.String()), "\n"), 1+int(time.Since(start)/time.Second)
	if len(told) > most {
		t.Errorf("%d lines for %d calls, want 1 to %d:\n%s", len(told), calls, most, strings.Join(told, "\n"))
	}
	for _, line := range told {
		if !strings.Contains(line, `level=WARN msg="redis client" said="`) || !strings.Contains(line, "failed to dial") {
			t.Errorf("got %s", line)
		}
	}
}
