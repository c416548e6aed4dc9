package bench

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

func BenchmarkDecision(b *testing.B) {
	for _, n := range []int{10_000, 1_000_000} {
		keys := Keys(n)
		for _, l := range Limiters {
			b.Run(fmt.Sprintf("%s/keys=%d", l.Name, n), func(b *testing.B) {
				work := Each(Known(l, keys), keys)
				b.ReportAllocs()
				b.ResetTimer()
				work(b.N)
			})
		}
	}
}

func BenchmarkCrowd(b *testing.B) {
	for _, l := range Limiters {
		b.Run(l.Name, func(b *testing.B) {
			var failed atomic.Int64
			Crowd(l.New(), Callers, &failed)(b.N)
			b.ReportMetric(float64(failed.Load()), "errors")
		})
	}
}

func BenchmarkHTTP(b *testing.B) {
	var servers Servers
	defer servers.Close()
	for _, c := range servers.HTTPContenders() {
		b.Run(c.Name, func(b *testing.B) {
			b.ReportAllocs()
			c.Work(b.N)
		})
	}
}

// A crowd on one key never meets an error in ours, whatever the peers do.
func TestOursNeverFailsUnderContention(t *testing.T) {
	for _, l := range Limiters[:3] {
		var failed atomic.Int64
		Crowd(l.New(), Callers, &failed)(100_000)
		if n := failed.Load(); n != 0 {
			t.Errorf("%s: %d errors", l.Name, n)
		}
	}
}

// What is compared must do the whole job: every header, and a problem with every member but the request id.
func TestLimitedRefusesAsTheBankDoes(t *testing.T) {
	ours, bank := Limited(1), Product(1)
	for range 2 {
		w, v := httptest.NewRecorder(), httptest.NewRecorder()
		r := httptest.NewRequest("GET", "/rates", nil)
		ours.ServeHTTP(w, r)
		if w.Code == 200 {
			bank.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/none", nil))
			continue
		}
		bank.ServeHTTP(v, r)
		for _, name := range []string{"RateLimit", "Retry-After", "X-RateLimit-Limit", "X-RateLimit-Remaining", "Content-Type"} {
			if got, want := w.Header().Get(name), v.Header().Get(name); got != want {
				t.Errorf("%s: got %q, the bank says %q", name, got, want)
			}
		}
		body, _, _ := strings.Cut(v.Body.String(), `"request_id"`)
		if !strings.HasPrefix(w.Body.String(), body) {
			t.Errorf("got %s, the bank says %s", w.Body, v.Body)
		}
	}
}
