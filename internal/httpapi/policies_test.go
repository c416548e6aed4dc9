package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/bankapi/internal/httpapi"
	"example.com/bankapi/internal/openapitest"
	"example.com/bankapi/internal/ratelimit/policyfile"
)

// limits is the built-in policy file with texts replaced: old, new, old, new...
func limits(t testing.TB, replace ...string) *policyfile.Live {
	t.Helper()
	text := string(policyfile.DefaultFile())
	for i := 0; i+1 < len(replace); i += 2 {
		if strings.Count(text, replace[i]) != 1 {
			t.Fatalf("%q stands %d times in the built-in file", replace[i], strings.Count(text, replace[i]))
		}
		text = strings.Replace(text, replace[i], replace[i+1], 1)
	}
	l, err := policyfile.Parse([]byte(text), httpapi.Routes())
	if err != nil {
		t.Fatal(err)
	}
	return policyfile.NewLive(l)
}

func TestTheBuiltInFileFitsTheRouter(t *testing.T) {
	t.Parallel()
	if _, err := policyfile.Open("", httpapi.Routes()); err != nil {
		t.Error(err)
	}
}

func TestPlansChangeNumbersNotCode(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	for plan, want := range map[string]string{
		"free":       `"user";q=10;w=5, "ip";q=300;w=3, "daily";q=10000;w=86400`,
		"pro":        `"user";q=100;w=5, "ip";q=300;w=3, "daily";q=100000;w=86400`,
		"enterprise": `"ip";q=300;w=3, "user";q=1000;w=5`,
	} {
		ada := b.somebody()
		if _, err := b.pool.Exec(t.Context(), "UPDATE users SET plan = $1 WHERE email = $2", plan, ada.email); err != nil {
			t.Fatal(err)
		}
		got := ada.logIn().must(http.StatusOK, "GET", "/accounts", "")
		wantHeader(t, got, "RateLimit-Policy", want)
		if _, daily := ada.logIn().left()["daily"]; daily == (plan == "enterprise") {
			t.Errorf("plan %s: GET /limits shows daily: %v", plan, daily)
		}
	}
}

// TestDailyQuota is G9 through the real handler: used up, it comes back at midnight UTC and not a day later.
func TestDailyQuota(t *testing.T) {
	t.Parallel()
	b := openBank(t, func(d *httpapi.Deps) { d.Limits = limits(t, "quota: 10000, ", "quota: 3, ") })
	ada := b.somebody()
	b.clock.Advance(12*time.Hour - 30*time.Second) // 23:59:30
	ada.address = "10.0.0.9"
	for range 3 {
		ada.must(http.StatusOK, "GET", "/me", "")
	}
	refused := ada.do("GET", "/me", "")
	p := wantProblem(t, refused, http.StatusTooManyRequests, "#quota-exceeded")
	if diff := cmp.Diff([]string{"daily"}, p.Violated); diff != "" {
		t.Error(diff)
	}
	wantHeader(t, refused, "Retry-After", "30")
	if got := ada.left(); got["user"] != 7 || got["daily"] != 0 {
		t.Errorf("got %v left, want 7 of user, which was not charged, and none of daily", got)
	}
	b.clock.Advance(30*time.Second - time.Microsecond)
	wantHeader(t, ada.do("GET", "/me", ""), "Retry-After", "1")
	b.clock.Advance(time.Microsecond)
	ada.must(http.StatusOK, "GET", "/me", "")
}

// TestDailyQuotaOfACountry: noon of UTC is ten hours before midnight in Berlin's summer.
func TestDailyQuotaOfACountry(t *testing.T) {
	t.Parallel()
	b := openBank(t, func(d *httpapi.Deps) {
		d.Limits = limits(t, "quota: 10000, period: 24h", "quota: 3, calendar: day, zone: Europe/Berlin")
	})
	ada := b.somebody()
	for range 3 {
		ada.must(http.StatusOK, "GET", "/me", "")
	}
	wantHeader(t, ada.do("GET", "/me", ""), "Retry-After", "36000")
	ada.must(http.StatusOK, "GET", "/limits", "")
}

func TestWhoIsExemptIsNotCounted(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	ada, grace := b.somebody(), b.somebody()
	me := into[struct{ ID string }](t, ada.must(http.StatusOK, "GET", "/me", ""))
	deps := b.deps
	deps.Limits = limits(t, "addresses: []", "addresses: [198.51.100.0/24]", "principals: []", "principals: ["+me.ID+"]")
	b.handler = httpapi.New(deps)

	for range 15 { // more than user allows
		wantHeader(t, ada.must(http.StatusOK, "GET", "/me", ""), "RateLimit-Policy", `"ip";q=300;w=3`)
	}
	grace.address = "198.51.100.7"
	wantHeader(t, grace.must(http.StatusOK, "GET", "/me", ""), "RateLimit-Policy", `"user";q=10;w=5, "daily";q=10000;w=86400`)
	ada.address = grace.address
	nothing := ada.send(ada.request("GET", "/me", nil), openapitest.LimitsUnknown)
	if nothing.Status != http.StatusOK || nothing.Header.Get("RateLimit") != "" {
		t.Errorf("exempt twice over: %s %v", nothing, nothing.Header)
	}
	wrong := ada.do("POST", "/sessions", credentials(ada.email, "not-the-right-password"))
	wantHeader(t, wrong, "RateLimit-Policy", `"login-ip";q=20;w=900`) // nobody is exempt from this

	metrics := b.admin("GET", "/metrics", "").String()
	for policy, times := range map[string]int{"user": 16, "daily": 16, "ip": 3} { // each request that was spared, see above
		if want := fmt.Sprintf(`{outcome="exempt",policy="%s"} %d`, policy, times); !strings.Contains(metrics, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
}

// TestAPolicyOnTrialRefusesNobody counts what it would have done, where operators see it and callers do not.
func TestAPolicyOnTrialRefusesNobody(t *testing.T) {
	t.Parallel()
	const user = "burst: 10, on_failure: share"
	b := openBank(t, func(d *httpapi.Deps) { d.Limits = limits(t, user, user+", mode: shadow") })
	ada := b.somebody()
	for range 12 {
		wantHeader(t, ada.must(http.StatusOK, "GET", "/me", ""), "RateLimit-Policy", `"ip";q=300;w=3, "daily";q=10000;w=86400`)
	}
	if _, shown := ada.left()["user"]; shown {
		t.Error("GET /limits shows a policy on trial")
	}
	if metrics := b.admin("GET", "/metrics", "").String(); !strings.Contains(metrics, `policy="user"} 2`) {
		t.Error("the metrics do not say what would have been refused")
	}
	if log := b.log.String(); strings.Count(log, `"limit on trial would have refused","policy":"user"`) != 1 {
		t.Errorf("want one line about the policy on trial, in\n%s", log)
	}
}

// TestAnExchangedFileKeepsWhatWasUsed is CASES 14: six are used; the new limit of 8 has 2 left, not 8.
func TestAnExchangedFileKeepsWhatWasUsed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "limits.yaml")
	write := func(burst string) {
		text := strings.Replace(string(policyfile.DefaultFile()), "burst: 10,", "burst: "+burst+",", 1)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("10")
	live, err := policyfile.Open(path, httpapi.Routes())
	if err != nil {
		t.Fatal(err)
	}
	b := openBank(t, func(d *httpapi.Deps) { d.Limits = live })
	signal := make(chan os.Signal)
	b.run(func(ctx context.Context) error { live.Watch(ctx, b.deps.Log, signal); return nil })

	ada := b.somebody()
	for range 6 {
		ada.must(http.StatusOK, "GET", "/me", "")
	}
	write("8")
	signal <- syscall.SIGHUP
	signal <- syscall.SIGHUP // taken when the first was worked on
	wantHeader(t, ada.must(http.StatusOK, "GET", "/me", ""), "X-RateLimit-Limit", "8")
	if got := ada.left()["user"]; got != 1 {
		t.Errorf("%d left, want 1", got)
	}
	write("0")
	signal <- syscall.SIGHUP
	signal <- syscall.SIGHUP
	wantHeader(t, ada.must(http.StatusOK, "GET", "/me", ""), "X-RateLimit-Limit", "8")
	if log := b.log.String(); !strings.Contains(log, `"field":"policies.user.burst"`) {
		t.Errorf("the log does not name the fault: %s", log)
	}
}
