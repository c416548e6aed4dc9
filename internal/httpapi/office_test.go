package httpapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/bankapi/internal/auth"
	"example.com/bankapi/internal/httpapi"
)

// An office of 24, with two requests each, comes back to a bank that has restarted and knows none of its tokens.
func TestAnOfficeIsNotRefusedForWhatItIsToGetBack(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	var office []caller
	for range 24 {
		c := b.somebody()
		c.address = "198.51.100.7"
		office = append(office, c)
	}
	const rounds = 5 // look-ups that take longer than anybody waits are no fault of the limit: one good round is proof
	for round := range rounds {
		b.clock.Advance(time.Hour)
		restarted := b.deps
		restarted.Auth = auth.New(b.pool, auth.Options{})
		handler := httpapi.New(restarted)
		var refused atomic.Int64
		var all sync.WaitGroup
		for _, c := range slices.Concat(office, office) {
			all.Go(func() {
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, c.request("GET", "/me", nil))
				if w.Code != http.StatusOK {
					refused.Add(1)
				}
			})
		}
		all.Wait()
		if refused.Load() == 0 {
			return
		}
		t.Logf("round %d: %d of 48 were refused", round, refused.Load())
	}
	t.Error("members were refused in each round")
}

// Tokens that somebody made up, each sent twice at once, get no further than the units of their address.
func TestAFloodOfMadeUpTokensEndsBeforeTheDatabase(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	var judged, limited atomic.Int64
	var all sync.WaitGroup
	for i := range 200 {
		c := b.from("198.51.100.7")
		c.token = fmt.Sprintf("bank_sess_%036d", i/2)
		all.Go(func() {
			switch got := c.do("GET", "/me", ""); got.Status {
			case http.StatusUnauthorized:
				judged.Add(1)
			case http.StatusTooManyRequests:
				limited.Add(1)
			default:
				t.Errorf("a made-up token: %s", got)
			}
		})
	}
	all.Wait()
	if judged.Load() != 20 || limited.Load() != 180 {
		t.Errorf("%d judged, %d limited; want 20 and 180", judged.Load(), limited.Load())
	}
	wantProblem(t, b.from("198.51.100.7").do("GET", "/rates", ""), http.StatusTooManyRequests, "#quota-exceeded")
}
