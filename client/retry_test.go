package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// script answers requests with its lines in turn, and its last line for ever: a status, then headers; or an error.
type script struct {
	lines  []string
	bodies []string    // what was sent
	keys   []string    // under which key
	at     []time.Time // when
	open   int         // bodies given out and not closed
	unread int         // bodies closed before their end
}

func (s *script) RoundTrip(req *http.Request) (*http.Response, error) {
	sent := ""
	if req.Body != nil {
		content, _ := io.ReadAll(req.Body)
		_ = req.Body.Close()
		sent = string(content)
	}
	line := s.lines[min(len(s.at), len(s.lines)-1)]
	s.bodies, s.keys, s.at = append(s.bodies, sent), append(s.keys, req.Header.Get("Idempotency-Key")), append(s.at, time.Now())
	if line == "lost" {
		return nil, errors.New("connection reset")
	}
	if line == "wait" {
		return nil, &WaitError{}
	}
	var status int
	headers := ""
	_, _ = fmt.Sscanf(line, "%d %q", &status, &headers)
	res := &http.Response{StatusCode: status, Header: http.Header{}, Request: req}
	if headers != "" {
		res.Header.Set("Retry-After", headers)
	}
	content := "{}"
	if status == http.StatusConflict && headers != "" {
		content = `{"type":"/problems/idempotency-key-in-use"}`
	}
	s.open++
	res.Body = &body{strings.NewReader(content), s}
	return res, nil
}

type body struct {
	*strings.Reader
	s *script
}

func (b *body) Close() error {
	b.s.open--
	if b.Len() > 0 {
		b.s.unread++
	}
	return nil
}

func request(ctx context.Context, method string, key string) *http.Request {
	var content io.Reader
	if method == http.MethodPost {
		content = strings.NewReader(`{"amount":1}`)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://bank/transfers", content)
	if err != nil {
		panic(err)
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	return req
}

func TestRetrierRepeatsWhatIsSafeAndOfUse(t *testing.T) {
	t.Parallel()
	const inUse = `409 "1"`
	for _, tt := range []struct {
		method, key, answer string
		want                int // tries
	}{
		{"GET", "", "lost", 4}, {"GET", "", "408", 4}, {"GET", "", "429", 4}, {"GET", "", "502", 4}, {"GET", "", "503", 4}, {"GET", "", "504", 4},
		{"GET", "", "500", 1}, {"GET", "", inUse, 1}, {"GET", "", "404", 1}, {"GET", "", "200", 1}, {"GET", "", "501", 1}, {"GET", "", "425", 1},
		{"GET", "", "wait", 1},
		{"HEAD", "", "503", 4},
		{"POST", "k", "lost", 4}, {"POST", "k", "408", 4}, {"POST", "k", "429", 4}, {"POST", "k", "500", 4}, {"POST", "k", "502", 4},
		{"POST", "k", "503", 4}, {"POST", "k", "504", 4}, {"POST", "k", inUse, 4},
		{"POST", "k", "409", 1}, {"POST", "k", "422", 1}, {"POST", "k", "201", 1}, {"POST", "k", "401", 1}, {"POST", "k", "400", 1},
		{"POST", "", "lost", 1}, {"POST", "", "429", 1}, {"POST", "", "503", 1}, {"POST", "", "500", 1},
		{"DELETE", "", "lost", 1}, {"DELETE", "", "503", 1}, {"PUT", "k", "503", 1}, {"PATCH", "k", "lost", 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &script{lines: []string{tt.answer}}
			res, err := (&Retrier{Base: s}).RoundTrip(request(t.Context(), tt.method, tt.key))
			if len(s.at) != tt.want {
				t.Errorf("%s with key %q, answered %s: %d tries, want %d", tt.method, tt.key, tt.answer, len(s.at), tt.want)
			}
			if (err != nil) == (res != nil) {
				t.Errorf("%s: both %v and %v", tt.answer, res, err)
			}
			for i := range s.bodies {
				if s.bodies[i] != s.bodies[0] || s.keys[i] != tt.key {
					t.Errorf("try %d sent %q under %q, the first %q under %q", i+1, s.bodies[i], s.keys[i], s.bodies[0], tt.key)
				}
			}
			if res != nil {
				_, _ = io.ReadAll(res.Body)
				_ = res.Body.Close()
			}
			if s.open != 0 || s.unread != 0 {
				t.Errorf("%s %s: %d bodies left open, %d closed unread", tt.method, tt.answer, s.open, s.unread)
			}
		})
	}
}

func TestRetrierSendsOnceWhatCannotBeRepeated(t *testing.T) {
	t.Parallel()
	s := &script{lines: []string{"503"}}
	req := request(t.Context(), http.MethodPost, "k")
	req.GetBody = nil
	if _, err := (&Retrier{Base: s}).RoundTrip(req); err != nil || len(s.at) != 1 {
		t.Errorf("a body that cannot be read twice: %d tries, %v", len(s.at), err)
	}
	s = &script{lines: []string{"503"}}
	req = request(t.Context(), http.MethodPost, "k")
	req.Header.Add("Idempotency-Key", "l")
	if _, err := (&Retrier{Base: s}).RoundTrip(req); err != nil || len(s.at) != 1 {
		t.Errorf("two keys: %d tries, %v", len(s.at), err)
	}
}

func TestRetrierWaitsAsLongAsToldAndUpToHalfAsLongAgain(t *testing.T) {
	t.Parallel()
	for _, told := range []string{"3", "Sat, 01 Jan 2000 00:00:03 GMT"} { // a bubble's clock starts in 2000
		var waits []time.Duration
		for range 200 {
			synctest.Test(t, func(t *testing.T) {
				s := &script{lines: []string{fmt.Sprintf("429 %q", told), "200"}}
				if res, err := (&Retrier{Base: s}).RoundTrip(request(t.Context(), "GET", "")); err != nil || res.StatusCode != 200 {
					t.Fatalf("%v, %v", res, err)
				}
				waits = append(waits, s.at[1].Sub(s.at[0]))
			})
		}
		low, high := slices.Min(waits), slices.Max(waits)
		if low < 3*time.Second || high > 4500*time.Millisecond || high-low < time.Second {
			t.Errorf("told %s, waited from %v to %v, want 3 s to 4.5 s", told, low, high)
		}
	}
}

func TestRetrierGivesUpAtOnceWhenTheWaitIsTooLong(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		told    string
		timeout time.Duration
		most    time.Duration // MaxWait
	}{
		"longer than the deadline":     {"3", 2 * time.Second, 0},
		"exactly the deadline":         {"3", 3 * time.Second, 0},
		"longer than the default":      {"31", time.Hour, 0},
		"longer than the own limit":    {"3", time.Hour, 2 * time.Second},
		"longer than there are times":  {"99999999999999999999", time.Hour, forever},
		"a date longer than there are": {"Fri, 31 Dec 9999 23:59:59 GMT", time.Hour, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), tt.timeout)
			defer cancel()
			s := &script{lines: []string{fmt.Sprintf("429 %q", tt.told), "200"}}
			began := time.Now()
			res, err := (&Retrier{Base: s, MaxWait: tt.most}).RoundTrip(request(ctx, "GET", ""))
			if err != nil || res.StatusCode != 429 || time.Since(began) != 0 {
				t.Fatalf("%s: %v, %v after %v, want the 429 at once", name, res, err, time.Since(began))
			}
			if content, _ := io.ReadAll(res.Body); string(content) != "{}" {
				t.Errorf("%s: the caller gets the body %q", name, content)
			}
		})
	}
}

func TestRetrierStopsWaitingWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		s := &script{lines: []string{`503 "3"`}}
		began := time.Now()
		if _, err := (&Retrier{Base: s}).RoundTrip(request(ctx, "GET", "")); !errors.Is(err, context.Canceled) || time.Since(began) != time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if s.open != 0 {
			t.Errorf("%d bodies left open", s.open)
		}
	})
}

func TestRetrierStopsWhenMostRequestsFail(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{lines: []string{"503"}}
		retrier := &Retrier{Base: s}
		for range 100 {
			if _, err := retrier.RoundTrip(request(t.Context(), "GET", "")); err != nil {
				t.Fatal(err)
			}
		}
		if len(s.at) > 106 {
			t.Errorf("100 requests to a server that is down were sent %d times, want at most 106", len(s.at))
		}
		s.lines = []string{"200"}
		for range 60 {
			_, _ = retrier.RoundTrip(request(t.Context(), "GET", ""))
		}
		s.lines, s.at = []string{"503", "200"}, nil
		if res, err := retrier.RoundTrip(request(t.Context(), "GET", "")); err != nil || res.StatusCode != 200 {
			t.Errorf("after 60 successes a failure is final: %v, %v", res, err)
		}
	})
}

// A thousand clients that were refused at the same moment come back over a second and a half, none of them early.
func TestAThousandClientsDoNotComeBackAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const clients = 1000
		scripts := make([]*script, clients)
		began := time.Now()
		var wg sync.WaitGroup
		for i := range scripts {
			scripts[i] = &script{lines: []string{`429 "3"`, "200"}}
			wg.Go(func() { _, _ = (&Retrier{Base: scripts[i]}).RoundTrip(request(t.Context(), "GET", "")) })
		}
		wg.Wait()
		perSlot := map[int64]int{}
		for _, s := range scripts {
			back := s.at[1].Sub(began)
			if back < 3*time.Second || back > 4500*time.Millisecond {
				t.Errorf("back after %v, told 3 s", back)
			}
			perSlot[back.Milliseconds()/10]++
		}
		// 150 slots of 10 ms: 6.7 each when even. 25 is seven deviations above.
		for slot, n := range perSlot {
			if n > 25 {
				t.Errorf("%d of %d come back within 10 ms, after %d ms", n, clients, slot*10)
			}
		}
		t.Logf("%d slots of 10 ms are used", len(perSlot))
	})
}

func TestRetrierTakesAnAnswerCutShortForNone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		cut := roundTripper(func(req *http.Request) (*http.Response, error) {
			tries++
			res := &http.Response{StatusCode: 201, Header: http.Header{"Content-Type": {"application/json"}}, Request: req}
			res.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"id":`), failing{}))
			if tries == 3 {
				res.Body = io.NopCloser(strings.NewReader(`{"id":"tr_1"}`))
			}
			return res, nil
		})
		res, err := (&Retrier{Base: cut}).RoundTrip(request(t.Context(), "POST", "k"))
		if err != nil || tries != 3 {
			t.Fatalf("%v after %d tries", err, tries)
		}
		if content, err := io.ReadAll(res.Body); string(content) != `{"id":"tr_1"}` || err != nil {
			t.Errorf("%s, %v", content, err)
		}
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
