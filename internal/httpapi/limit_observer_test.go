package httpapi_test

import (
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/bankapi/internal/httpapi"
	"example.com/bankapi/internal/logtest"
)

// watched is an observer whose clock stands and whose log has no times.
func watched() (*httpapi.LimitObserver, *clock, *logtest.Buffer) {
	now, log := &clock{}, &logtest.Buffer{}
	withoutTime := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	return &httpapi.LimitObserver{Now: now.Now, Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{ReplaceAttr: withoutTime}))}, now, log
}

func TestAStoreThatFailsIsToldOncePerSecond(t *testing.T) {
	t.Parallel()
	o, now, log := watched()
	fail := func(store string, times int) {
		var wg sync.WaitGroup
		for range times {
			wg.Go(func() { o.StoreFailed(store, errors.New("away")) })
		}
		wg.Wait()
	}
	fail("redis", 1000)
	now.Advance(time.Second - time.Microsecond)
	fail("redis", 5)
	fail("postgres", 1)
	now.Advance(time.Microsecond)
	fail("redis", 2)
	now.Advance(time.Hour)
	fail("redis", 1)
	want := []string{"redis more_since_last=0", "postgres more_since_last=0", "redis more_since_last=1004", "redis more_since_last=1", ""}
	for i := range want[:4] {
		want[i] = "level=WARN msg=\"limiter store failed\" store=" + want[i] + " error=away"
	}
	if diff := cmp.Diff(want, strings.Split(log.String(), "\n")); diff != "" {
		t.Error(diff)
	}
}

func TestATrialIsToldOncePerSecondAndPolicy(t *testing.T) {
	t.Parallel()
	o, now, log := watched()
	refuse := func(policy, key string, times int) {
		for range times {
			o.WouldRefuse(policy, key)
		}
	}
	refuse("user", "9f0c", 100)
	refuse("daily", "41aa", 1)
	now.Advance(time.Second)
	refuse("user", "77e1", 2)
	want := []string{"policy=user more_since_last=0 key=9f0c", "policy=daily more_since_last=0 key=41aa", "policy=user more_since_last=99 key=77e1", ""}
	for i := range want[:3] {
		want[i] = "level=INFO msg=\"limit on trial would have refused\" " + want[i]
	}
	if diff := cmp.Diff(want, strings.Split(log.String(), "\n")); diff != "" {
		t.Error(diff)
	}
}
