package ratelimit_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/bankapi/internal/ratelimit"
)

// at is when the decisions of these tests are made: 2026-09-24 10:20:30.25 UTC.
var at = time.Date(2026, 9, 24, 10, 20, 30, 250_000_000, time.UTC)

const atUnix = 1790245230

func decide(t *testing.T, statuses map[string]ratelimit.Status, policies ...*ratelimit.Policy) ratelimit.Decision {
	t.Helper()
	d := ratelimit.Decision{Allowed: true, At: at}
	for _, p := range policies {
		st := statuses[p.Name]
		d.Claims = append(d.Claims, ratelimit.Claim{Policy: p, Cost: 1})
		d.Statuses = append(d.Statuses, st)
		if !st.Allowed {
			d.Allowed = false
			d.Violated = append(d.Violated, p.Name)
			d.RetryAfter = max(d.RetryAfter, st.Wait)
		}
	}
	return d
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	user := policy(t, "user", bucket(2, time.Second, 10), ratelimit.FailOpen)
	ip := policy(t, "ip", bucket(100, time.Second, 300), ratelimit.FailOpen)
	daily := policy(t, "daily", limit(ratelimit.FixedWindow, 1000, 24*time.Hour), ratelimit.FailOpen)
	log := policy(t, "log", limit(ratelimit.SlidingLog, 5, 15*time.Minute), ratelimit.FailClosed)
	secret, err := ratelimit.NewPolicy(ratelimit.Policy{
		Name: "secret", Private: true, OnFailure: ratelimit.FailClosed, Limit: limit(ratelimit.SlidingLog, 5, time.Minute),
	})
	if err != nil {
		t.Fatal(err)
	}
	type headers map[string]string
	for _, c := range []struct {
		name     string
		policies []*ratelimit.Policy
		statuses map[string]ratelimit.Status
		want     headers
	}{
		{"a bucket of 10 at 2/s with 5 left", []*ratelimit.Policy{user}, map[string]ratelimit.Status{
			"user": {Allowed: true, Remaining: 5, Reset: 2500 * time.Millisecond},
		}, headers{
			"RateLimit-Policy": `"user";q=10;w=5`, "RateLimit": `"user";r=5;t=3`,
			"X-RateLimit-Limit": "10", "X-RateLimit-Remaining": "5", "X-RateLimit-Reset": unix(3), // 30.25 + 2.5
		}},
		{"an empty bucket still has a t", []*ratelimit.Policy{user}, map[string]ratelimit.Status{
			"user": {Allowed: true, Remaining: 0, Reset: 5 * time.Second},
		}, headers{
			"RateLimit-Policy": `"user";q=10;w=5`, "RateLimit": `"user";r=0;t=1`,
			"X-RateLimit-Limit": "10", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": unix(6),
		}},
		{"refused at cost 5", []*ratelimit.Policy{user}, map[string]ratelimit.Status{
			"user": {Remaining: 0, Wait: 2500 * time.Millisecond, Reset: 5 * time.Second},
		}, headers{
			"RateLimit-Policy": `"user";q=10;w=5`, "RateLimit": `"user";r=0;t=3`, "Retry-After": "3",
			"X-RateLimit-Limit": "10", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": unix(6),
		}},
		{"a wait below a second is a second", []*ratelimit.Policy{user}, map[string]ratelimit.Status{
			"user": {Remaining: 0, Wait: time.Microsecond, Reset: time.Second},
		}, headers{
			"RateLimit-Policy": `"user";q=10;w=5`, "RateLimit": `"user";r=0;t=1`, "Retry-After": "1",
			"X-RateLimit-Limit": "10", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": unix(2),
		}},
		{"several, tightest first", []*ratelimit.Policy{daily, user}, map[string]ratelimit.Status{
			"daily": {Allowed: true, Remaining: 640, Reset: 30561 * time.Second, Oldest: 30561 * time.Second},
			"user":  {Allowed: true, Remaining: 5, Reset: 2500 * time.Millisecond},
		}, headers{
			"RateLimit-Policy": `"user";q=10;w=5, "daily";q=1000;w=86400`, "RateLimit": `"user";r=5;t=3, "daily";r=640;t=30561`,
			"X-RateLimit-Limit": "10", "X-RateLimit-Remaining": "5", "X-RateLimit-Reset": unix(3),
		}},
		{"refused by one of two", []*ratelimit.Policy{daily, user}, map[string]ratelimit.Status{
			"daily": {Allowed: true, Remaining: 2, Reset: 30561 * time.Second, Oldest: 30561 * time.Second},
			"user":  {Remaining: 3, Wait: 750 * time.Millisecond, Reset: 3500 * time.Millisecond},
		}, headers{
			"RateLimit-Policy": `"user";q=10;w=5, "daily";q=1000;w=86400`, "RateLimit": `"user";r=3;t=1`, "Retry-After": "1",
			"X-RateLimit-Limit": "10", "X-RateLimit-Remaining": "3", "X-RateLimit-Reset": unix(4),
		}},
		{"refused by two: the longest wait leads", []*ratelimit.Policy{user, daily}, map[string]ratelimit.Status{
			"daily": {Remaining: 4, Wait: 29_500 * time.Millisecond, Reset: 29_500 * time.Millisecond, Oldest: 29_500 * time.Millisecond},
			"user":  {Remaining: 0, Wait: 2500 * time.Millisecond, Reset: 5 * time.Second},
		}, headers{
			"RateLimit-Policy": `"daily";q=1000;w=86400, "user";q=10;w=5`, "RateLimit": `"daily";r=4;t=30, "user";r=0;t=3`,
			"Retry-After":       "30",
			"X-RateLimit-Limit": "1000", "X-RateLimit-Remaining": "4", "X-RateLimit-Reset": unix(30),
		}},
		{"a log: t is when the oldest leaves, Reset when the newest does", []*ratelimit.Policy{log}, map[string]ratelimit.Status{
			"log": {Allowed: true, Remaining: 3, Oldest: 600 * time.Second, Reset: 900 * time.Second},
		}, headers{
			"RateLimit-Policy": `"log";q=5;w=900`, "RateLimit": `"log";r=3;t=600`,
			"X-RateLimit-Limit": "5", "X-RateLimit-Remaining": "3", "X-RateLimit-Reset": unix(901),
		}},
		{"never: no Retry-After", []*ratelimit.Policy{user}, map[string]ratelimit.Status{
			"user": {Never: true, Remaining: 10},
		}, headers{
			"RateLimit-Policy": `"user";q=10;w=5`, "RateLimit": `"user";r=10;t=5`,
			"X-RateLimit-Limit": "10", "X-RateLimit-Remaining": "10", "X-RateLimit-Reset": unix(1),
		}},
		{"a private policy does not show while it admits", []*ratelimit.Policy{secret, ip}, map[string]ratelimit.Status{
			"secret": {Allowed: true, Remaining: 1},
			"ip":     {Allowed: true, Remaining: 299, Reset: 10 * time.Millisecond},
		}, headers{
			"RateLimit-Policy": `"ip";q=300;w=3`, "RateLimit": `"ip";r=299;t=3`,
			"X-RateLimit-Limit": "300", "X-RateLimit-Remaining": "299", "X-RateLimit-Reset": unix(1),
		}},
		{"and shows when it refuses", []*ratelimit.Policy{secret, ip}, map[string]ratelimit.Status{
			"secret": {Wait: 20 * time.Second, Reset: 50 * time.Second, Oldest: 20 * time.Second},
			"ip":     {Allowed: true, Remaining: 300},
		}, headers{
			"RateLimit-Policy": `"secret";q=5;w=60, "ip";q=300;w=3`, "RateLimit": `"secret";r=0;t=20`, "Retry-After": "20",
			"X-RateLimit-Limit": "5", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": unix(51),
		}},
		{"what nobody knows is not told", []*ratelimit.Policy{user}, map[string]ratelimit.Status{
			"user": {Allowed: true, Unknown: true},
		}, headers{}},
		{"two keys of one policy: the tighter speaks", []*ratelimit.Policy{user, user}, map[string]ratelimit.Status{
			"user": {Allowed: true, Remaining: 5, Reset: 2500 * time.Millisecond},
		}, headers{
			"RateLimit-Policy": `"user";q=10;w=5`, "RateLimit": `"user";r=5;t=3`,
			"X-RateLimit-Limit": "10", "X-RateLimit-Remaining": "5", "X-RateLimit-Reset": unix(3),
		}},
		{"no claims, no headers", nil, nil, headers{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := http.Header{}
			ratelimit.WriteHeaders(got, decide(t, c.statuses, c.policies...))
			want := http.Header{}
			for name, value := range c.want {
				want.Set(name, value)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func unix(seconds int64) string { return strconv.FormatInt(atUnix+seconds, 10) }

// TestHeadersOfSeveralStages: a later stage adds to what an earlier one wrote and overwrites only itself.
func TestHeadersOfSeveralStages(t *testing.T) {
	t.Parallel()
	user := policy(t, "user", bucket(2, time.Second, 10), ratelimit.FailOpen)
	ip := policy(t, "ip", bucket(100, time.Second, 300), ratelimit.FailOpen)
	ipLeft := map[string]ratelimit.Status{"ip": {Allowed: true, Remaining: 299, Reset: 10 * time.Millisecond}}

	h := http.Header{}
	check := func(stage, limits, policies, quota, left string) {
		t.Helper()
		got := []string{h.Get("RateLimit"), h.Get("RateLimit-Policy"), h.Get("X-RateLimit-Limit"), h.Get("X-RateLimit-Remaining")}
		if diff := cmp.Diff([]string{limits, policies, quota, left}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", stage, diff)
		}
	}
	ratelimit.WriteHeaders(h, decide(t, ipLeft, ip))
	check("address", `"ip";r=299;t=3`, `"ip";q=300;w=3`, "300", "299")

	userLeft := map[string]ratelimit.Status{"user": {Allowed: true, Remaining: 5, Reset: 2500 * time.Millisecond}}
	ratelimit.WriteHeaders(h, decide(t, userLeft, user))
	check("user", `"user";r=5;t=3, "ip";r=299;t=3`, `"user";q=10;w=5, "ip";q=300;w=3`, "10", "5")

	userLeft["user"] = ratelimit.Status{Allowed: true, Remaining: 9, Reset: 500 * time.Millisecond}
	ratelimit.WriteHeaders(h, decide(t, userLeft, user))
	check("settled", `"user";r=9;t=5, "ip";r=299;t=3`, `"user";q=10;w=5, "ip";q=300;w=3`, "10", "9")

	userLeft["user"] = ratelimit.Status{Remaining: 4, Wait: 500 * time.Millisecond, Reset: 3 * time.Second}
	ratelimit.WriteHeaders(h, decide(t, userLeft, user))
	check("refused", `"user";r=4;t=1`, `"user";q=10;w=5, "ip";q=300;w=3`, "10", "4")

	h = http.Header{}
	ratelimit.WriteHeaders(h, decide(t, userLeft, user))
	h = http.Header{}
	userLeft["user"] = ratelimit.Status{Allowed: true, Remaining: 9, Reset: time.Second}
	ipLeft["ip"] = ratelimit.Status{Allowed: true, Remaining: 2, Reset: 3 * time.Second}
	ratelimit.WriteHeaders(h, decide(t, ipLeft, ip))
	ratelimit.WriteHeaders(h, decide(t, userLeft, user))
	check("the earlier one is tighter", `"ip";r=2;t=1, "user";r=9;t=5`, `"ip";q=300;w=3, "user";q=10;w=5`, "300", "2")
}

func TestHeadersWhenUnavailable(t *testing.T) {
	t.Parallel()
	l := &ratelimit.Limiter{Default: &ratelimit.Backend{Name: "postgres", Store: broken{take: refused}}}
	h := http.Header{}
	ratelimit.WriteHeaders(h, l.Take(t.Context(), claim(ratelimit.DefaultPolicies().LoginIP, "k", 1)))
	if diff := cmp.Diff(http.Header{"Retry-After": {"1"}}, h); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestMiddleware is the lesson's fifth figure: a transfer costs 5, a read 1, of 10 tokens at 2 a second.
func TestMiddleware(t *testing.T) {
	t.Parallel()
	c := newClock()
	user := ratelimit.DefaultPolicies().User
	l := &ratelimit.Limiter{Default: memoryBackend(c.Now), Now: c.Now}
	claims := func(r *http.Request) []ratelimit.Claim {
		switch cost := int64(ratelimit.CostRead); {
		case r.URL.Path == "/healthz":
			return nil
		case r.Method == http.MethodPost:
			cost = ratelimit.CostTransfer
			fallthrough
		default:
			return []ratelimit.Claim{claim(user, r.Header.Get("User"), cost)}
		}
	}
	refuse := func(w http.ResponseWriter, _ *http.Request, d ratelimit.Decision) {
		w.WriteHeader(http.StatusTooManyRequests)
	}
	created := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) })
	h := ratelimit.Middleware(l, claims, refuse)(created)

	for i, s := range []struct {
		after              time.Duration
		method, path, user string
		status             int
		limit, retryAfter  string
	}{
		{0, "POST", "/transfers", "payroll", 201, `"user";r=5;t=3`, ""},
		{0, "POST", "/transfers", "payroll", 201, `"user";r=0;t=1`, ""},
		{0, "POST", "/transfers", "payroll", 429, `"user";r=0;t=3`, "3"},
		{0, "GET", "/transfers", "ada", 201, `"user";r=9;t=5`, ""},
		{2 * time.Second, "POST", "/transfers", "payroll", 429, `"user";r=4;t=1`, "1"},
		{500 * time.Millisecond, "POST", "/transfers", "payroll", 201, `"user";r=0;t=1`, ""},
		{0, "GET", "/healthz", "payroll", 201, "", ""},
	} {
		c.Advance(s.after)
		r := httptest.NewRequest(s.method, s.path, nil)
		r.Header.Set("User", s.user)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		got := []string{strconv.Itoa(w.Code), w.Header().Get("RateLimit"), w.Header().Get("Retry-After")}
		if diff := cmp.Diff([]string{strconv.Itoa(s.status), s.limit, s.retryAfter}, got); diff != "" {
			t.Errorf("request %d, %s %s by %s (-want +got):\n%s", i, s.method, s.path, s.user, diff)
		}
	}
}
