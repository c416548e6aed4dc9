package load

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func serve(t *testing.T, h http.HandlerFunc) string {
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

func gets() Requests {
	return func() []byte { return []byte("GET / HTTP/1.1\r\nHost: bank.example\r\n\r\n") }
}

func TestEveryAnswerIsCountedOnce(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	address := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1)%2 == 0 {
			w.WriteHeader(http.StatusTeapot)
		}
		fmt.Fprint(w, "a body")
	})
	for _, rate := range []float64{0, 500} {
		asked.Store(0)
		got, err := Run{
			Addresses: []string{address}, Connections: 3, Requests: gets, Rate: rate,
			WarmUp: 50 * time.Millisecond, Time: 200 * time.Millisecond,
		}.Do(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n := got.Answers[http.StatusOK] + got.Answers[http.StatusTeapot]; n != asked.Load() || n == 0 {
			t.Errorf("rate %v: %d answers noted, the server gave %d", rate, n, asked.Load())
		}
		if err := got.Expect(http.StatusOK); err == nil || !strings.Contains(err.Error(), "of status 418") {
			t.Errorf("rate %v: %v", rate, err)
		}
	}
}

// One answer takes long. The requests that should have been sent meanwhile wait for it, and a paced run says so.
func TestPacedLatencyCountsFromTheMomentARequestIsDue(t *testing.T) {
	t.Parallel()
	const stall, rate = 300 * time.Millisecond, 100
	var once sync.Once
	address := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		once.Do(func() { time.Sleep(stall) })
		fmt.Fprint(w, "a body")
	})
	got, err := Run{Addresses: []string{address}, Connections: 1, Requests: gets, Rate: rate, Time: 2 * stall}.Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	due := int64(rate * (2 * stall).Seconds())
	if got.Answers[http.StatusOK] != due {
		t.Errorf("%d answers, %d requests were due", got.Answers[http.StatusOK], due)
	}
	// The requests due in the first half of the stall waited for its second half at least: a quarter of all.
	if q := got.Latency(0.76); q < stall/2 {
		t.Errorf("a quarter of the requests waited longer than %v, the run says %v", stall/2, q)
	}
}

func TestARunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	quit := make(chan struct{})
	address := serve(t, func(http.ResponseWriter, *http.Request) { <-quit })
	defer close(quit)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := Run{Addresses: []string{address}, Connections: 2, Requests: gets, Time: time.Hour}.Do(ctx)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

func TestAServerThatHangsUpIsAnError(t *testing.T) {
	t.Parallel()
	address := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	if _, err := (Run{Addresses: []string{address}, Connections: 2, Requests: gets, Time: time.Hour}).Do(t.Context()); err == nil {
		t.Error("no error")
	}
}

func TestLatencyIsTheNearestRank(t *testing.T) {
	t.Parallel()
	r := sum([]tally{{latencies: []time.Duration{4, 2}}, {latencies: []time.Duration{3, 1, 5}}}, time.Second)
	for q, want := range map[float64]time.Duration{0: 1, 0.2: 1, 0.21: 2, 0.5: 3, 0.99: 5, 1: 5} {
		if got := r.Latency(q); got != want {
			t.Errorf("Latency(%v) = %d, want %d", q, got, want)
		}
	}
	if got := (Result{}).Latency(0.5); got != 0 {
		t.Errorf("nothing answered: %v", got)
	}
}

func TestPaymentsAreRequestsWithKeysOfTheirOwn(t *testing.T) {
	t.Parallel()
	crowd := &Crowd{}
	owner := map[string]string{}
	for i := range 4 {
		m := Member{Account: fmt.Sprintf("acct_%026d", i), Token: fmt.Sprintf("bank_key_%036d", i/2)}
		crowd.Members, owner[m.Account] = append(crowd.Members, m), m.Token
	}
	for _, hot := range []bool{false, true} {
		keys, received := map[string]bool{}, map[string]bool{}
		next := crowd.Payments(hot)()
		for range 200 {
			text := next()
			r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(text)))
			if err != nil {
				t.Fatalf("%v in\n%s", err, text)
			}
			var body struct {
				From     string `json:"from_account"`
				To       string `json:"to_account"`
				Amount   int64
				Currency string
			}
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
				t.Fatalf("%v in\n%s", err, text)
			}
			if int64(bytes.Index(text, []byte("{")))+r.ContentLength != int64(len(text)) {
				t.Fatalf("a length of %d in\n%s", r.ContentLength, text)
			}
			if body.From == body.To || r.Header.Get("Authorization") != "Bearer "+owner[body.From] || body.Amount < 100 || body.Amount > 999 {
				t.Fatalf("%+v as %s", body, r.Header.Get("Authorization"))
			}
			keys[r.Header.Get("Idempotency-Key")], received[body.To] = true, true
		}
		if len(keys) != 200 {
			t.Errorf("%d keys for 200 transfers", len(keys))
		}
		if want := map[bool]int{false: 4, true: 1}[hot]; len(received) != want {
			t.Errorf("hot %v: %d accounts received money, want %d", hot, len(received), want)
		}
	}
}
