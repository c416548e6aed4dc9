package policyfile_test

import (
	"errors"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/bankapi/internal/ratelimit"
	"example.com/bankapi/internal/ratelimit/policyfile"
)

// change returns the default file with one text replaced.
func change(t testing.TB, old, with string) []byte {
	t.Helper()
	text := string(policyfile.DefaultFile())
	if strings.Count(text, old) != 1 {
		t.Fatalf("%q stands %d times in the default file", old, strings.Count(text, old))
	}
	return []byte(strings.Replace(text, old, with, 1))
}

func parse(t testing.TB, text []byte) *policyfile.Limits {
	t.Helper()
	l, err := policyfile.Parse(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestTheDefaultFileIsTheDefault holds the two places where the bank's numbers stand together.
func TestTheDefaultFileIsTheDefault(t *testing.T) {
	t.Parallel()
	got, want := reflect.ValueOf(policyfile.Default().Policies), reflect.ValueOf(ratelimit.DefaultPolicies())
	for i := range want.NumField() {
		name := want.Type().Field(i).Name
		g, w := got.Field(i).Interface().(*ratelimit.Policy), want.Field(i).Interface().(*ratelimit.Policy)
		if g == nil || w == nil {
			t.Errorf("%s: the file has %v, the defaults %v", name, g, w)
			continue
		}
		if g.Name != w.Name || !reflect.DeepEqual(g.Limit, w.Limit) || g.OnFailure != w.OnFailure || g.Private != w.Private || g.Share != w.Share || g.Shadow != w.Shadow {
			t.Errorf("%s: the file has %+v, the defaults %+v", name, *g, *w)
		}
	}
	if c := policyfile.Default().Costs("POST", "/transfers"); c.User != ratelimit.CostTransfer {
		t.Errorf("a transfer costs %d in the file, %d in the defaults", c.User, ratelimit.CostTransfer)
	}
}

func TestPlansChangeNumbers(t *testing.T) {
	t.Parallel()
	l := policyfile.Default()
	for name, want := range map[string]struct{ burst, daily int64 }{
		"free": {10, 10_000}, "pro": {100, 100_000}, "enterprise": {1000, 0}, "of tomorrow": {10, 10_000},
	} {
		p := l.Plan(name)
		daily := int64(0)
		if p.Daily != nil {
			daily = p.Daily.Limit.Capacity()
		}
		if p.User.Limit.Capacity() != want.burst || daily != want.daily {
			t.Errorf("plan %s: user %d, daily %d, want %+v", name, p.User.Limit.Capacity(), daily, want)
		}
		if p.User.Name != "user" || p.User.OnFailure != ratelimit.FailOpen || p.User.Limit.Period != time.Second {
			t.Errorf("plan %s lost what it does not change: %+v", name, *p.User)
		}
	}
}

func TestCosts(t *testing.T) {
	t.Parallel()
	l := policyfile.Default()
	for route, want := range map[string]policyfile.Costs{
		"POST /transfers": {User: 5, Daily: 1},
		"GET /transfers":  {User: 1, Daily: 1},
		"GET /limits":     {},
		"HEAD /limits":    {},
		"GET ":            {User: 1, Daily: 1},
	} {
		method, pattern, _ := strings.Cut(route, " ")
		if got := l.Costs(method, pattern); got != want {
			t.Errorf("%s: got %+v, want %+v", route, got, want)
		}
	}
}

func TestAskingAllocatesNothing(t *testing.T) {
	l := policyfile.Default()
	user, plan := "usr_06h2jnfojpqrt6gjg1nnnvatks", "pro"
	if n := testing.AllocsPerRun(100, func() {
		_, _, _ = l.Plan(plan), l.Costs("POST", "/transfers"), l.ExemptsPrincipal(user)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestExemptions(t *testing.T) {
	t.Parallel()
	text := change(t, "addresses: []", "addresses: [203.0.113.0/24, '2001:db8::/32']")
	text = []byte(strings.Replace(string(text), "principals: []", "principals:\n    - usr_06h2jnfojpqrt6gjg1nnnvatks", 1))
	l := parse(t, text)
	for addr, want := range map[string]bool{"203.0.113.9": true, "203.0.114.9": false, "2001:db8:1::1": true, "::1": false} {
		if got := l.ExemptsAddress(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s: got %v, want %v", addr, got, want)
		}
	}
	if !l.ExemptsPrincipal("usr_06h2jnfojpqrt6gjg1nnnvatks") || l.ExemptsPrincipal("usr_") || !l.ExemptsAddresses() {
		t.Error("the wrong principals are exempt")
	}
	if policyfile.Default().ExemptsAddresses() {
		t.Error("somebody is exempt by default")
	}
}

func TestCalendars(t *testing.T) {
	t.Parallel()
	const daily = "algorithm: fixed-window, quota: 10000, period: 24h"
	l := parse(t, change(t, daily, "algorithm: fixed-window, quota: 10000, calendar: month, zone: Europe/Berlin"))
	if got := l.Daily.Limit; got.Calendar != ratelimit.Month || got.Zone.String() != "Europe/Berlin" || got.Period != 0 {
		t.Errorf("got %+v, want months of Berlin", got)
	}
	if got := l.Plan("pro").Daily.Limit; got.Calendar != ratelimit.Month || got.Quota != 100_000 {
		t.Errorf("plan pro: got %+v, want 100,000 in months of Berlin", got)
	}
}

// TestPlansKeepHowAPolicyIsMeant: they change numbers only.
func TestPlansKeepHowAPolicyIsMeant(t *testing.T) {
	t.Parallel()
	const user = "burst: 10, on_failure: share"
	pro := parse(t, change(t, user, user+", mode: shadow, private: true")).Plan("pro").User
	if !pro.Shadow || !pro.Share || !pro.Private || pro.Limit.Burst != 100 {
		t.Errorf("got %+v, want a shadow, private and shared", *pro)
	}
}

func TestUnlimitedIsAWord(t *testing.T) {
	t.Parallel()
	l := parse(t, change(t, "{ algorithm: token-bucket, quota: 100, period: 1s, burst: 300, on_failure: share }", "unlimited"))
	if l.IP != nil {
		t.Errorf("got %+v, want none", *l.IP)
	}
}

// TestFaults spoils the default file in one place each.
func TestFaults(t *testing.T) {
	t.Parallel()
	const (
		ip    = "ip: { algorithm: token-bucket, quota: 100, period: 1s, burst: 300, on_failure: share }"
		login = "login-ip: { algorithm: sliding-log, quota: 20, period: 15m, on_failure: closed }"
	)
	const (
		daily = "algorithm: fixed-window, quota: 10000, period: 24h"
		day   = "algorithm: fixed-window, quota: 10000, calendar: day, zone: UTC"
	)
	for _, c := range []struct{ old, with, want string }{
		{daily, strings.Replace(day, "day", "week", 1), "policies.daily.calendar: must be day or month, is week"},
		{daily, strings.Replace(day, "UTC", "Berlin", 1), "policies.daily.zone: must be a time zone such as UTC or Europe/Berlin, is Berlin"},
		{daily, strings.Replace(day, "fixed-window", "sliding-log", 1), "policies.daily.calendar: only a fixed-window follows it"},
		{daily, day + ", period: 24h", "policies.daily.period: a calendar day has its own, is 24h"},
		{daily, "algorithm: fixed-window, quota: 10000, period: 24h, zone: UTC", "policies.daily.zone: only days and months have one"},
		{daily, "algorithm: fixed-window, quota: 10000", "policies.daily: period is missing"},
		{ip, strings.Replace(ip, "100", "0", 1), "policies.ip.quota: must be a whole number of at least 1, is 0"},
		{ip, strings.Replace(ip, "300", "0", 1), "policies.ip.burst: must be a whole number of at least 1, is 0"},
		{ip, strings.Replace(ip, "300", "-1", 1), "policies.ip.burst: must be a whole number of at least 1, is -1"},
		{ip, strings.Replace(ip, "100", "2e9", 1), "policies.ip.quota: must be a whole number of at least 1, is 2e9"},
		{ip, strings.Replace(ip, "100", "1.5", 1), "policies.ip.quota: must be a whole number of at least 1, is 1.5"},
		{ip, strings.Replace(ip, "100", "99999999999999999999", 1), "policies.ip.quota: must be a whole number of at least 1, is"},
		{ip, strings.Replace(ip, "1s", "0s", 1), "policies.ip.period: must be whole microseconds"},
		{ip, strings.Replace(ip, "1s", "second", 1), "policies.ip.period: must be a length of time such as 1s, 15m or 24h, is second"},
		{ip, strings.Replace(ip, "token-bucket", "leaky", 1), "policies.ip.algorithm: must be token-bucket or"},
		{ip, strings.Replace(ip, "token-bucket", "sliding-log", 1), "policies.ip.burst: a sliding-log has none, is 300"},
		{ip, strings.Replace(ip, ", on_failure: share", "", 1), "policies.ip: on_failure is missing"},
		{ip, strings.Replace(ip, "share", "ajar", 1), "policies.ip.on_failure: must be open or closed or share, is ajar"},
		{ip, strings.Replace(ip, "burst", "bursts", 1), "policies.ip.bursts: there is no such member"},
		{ip, ip + "\n  ip: unlimited", "policies.ip: stands on line"},
		{ip, "", "policies: ip is missing"},
		{ip, "ip:", "policies.ip: algorithm is missing"},
		{ip, "ip: [1]", "policies.ip: must be a mapping"},
		{login, "login-ip: unlimited", "policies.login-ip: guards passwords and cannot be unlimited"},
		{login, login + "\n  another: unlimited", "policies.another: there is no such member"},
		{ip, strings.Replace(ip, " }", ", mode: off }", 1), "policies.ip.mode: must be enforce or shadow, is off"},
		{"instances: 1", "instances: 0", "instances: must be a whole number of at least 1, is 0"},
		{"  free: {}", "", "plans: free is missing"},
		{"  free: {}", "  free: {}\n  gold: {}", "plans.gold: there is no such member"},
		{"  free: {}", "  free: { user: { burst: 4 } }", `routes.POST /transfers.user: costs 5 and policy "user" allows 4 at most in plan free`},
		{"  free: {}", "  free: { ip: { burst: 4 } }", "plans.free.ip: there is no such member"},
		{"  free: {}", "  free: { daily: { burst: 4 } }", "plans.free.daily.burst: a fixed-window has none, is 4"},
		{"  free: {}", "  free: { user: { on_failure: closed } }", "plans.free.user.on_failure: there is no such member"},
		{"{ user: 5 }", "{ user: 11 }", `routes.POST /transfers.user: costs 11 and policy "user" allows 10 at most: nobody`},
		{"{ user: 5 }", "{ user: -1 }", "routes.POST /transfers.user: must be a whole number of at least 0, is -1"},
		{"{ user: 5 }", "{ ip: 5 }", "routes.POST /transfers.ip: there is no such member"},
		{"POST /transfers:", "POST /transfer:", "routes.POST /transfer: is no route that charges a customer"},
		{"GET /limits:", "/limits:", "routes./limits: is no route"},
		{"addresses: []", "addresses: [0.0.0.0/0]", "exemptions.addresses[0]: is everybody"},
		{"addresses: []", "addresses: [10.0.0.1/8]", "exemptions.addresses[0]: has bits beyond its length; 10.0.0.0/8 is meant"},
		{"addresses: []", "addresses: [10.0.0.1]", "exemptions.addresses[0]: must be a range of addresses"},
		{"addresses: []", "addresses: 10.0.0.0/8", "exemptions.addresses: must be a list"},
		{"principals: []", "principals: [ada]", "exemptions.principals[0]: must be a user's id"},
		{"principals: []", "principles: []", "exemptions.principles: there is no such member"},
		{"routes:\n", "route:\n", "routes: is missing"},
	} {
		text := change(t, c.old, c.with)
		_, err := policyfile.Parse(text, []policyfile.Route{{Method: "POST", Pattern: "/transfers"}, {Method: "GET", Pattern: "/limits"}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s -> %s:\ngot  %v\nwant %s", c.old, c.with, err, c.want)
		}
	}
}

// TestFaultsAreToldAtOnceWithTheirLines: three faults in one file are three lines, in order.
func TestFaultsAreToldAtOnceWithTheirLines(t *testing.T) {
	t.Parallel()
	_, err := policyfile.Parse([]byte(`policies:
  ip: unlimited
  user:
    algorithm: token-bucket
    quota: 0
    period: 1s
    burst: 0
    on_failure: open
plans: { free: {}, pro: {}, enterprise: {} }
routes:
  POST /transfers: { user: five }
`), nil)
	faults, ok := errors.AsType[policyfile.Faults](err)
	if !ok {
		t.Fatalf("got %v, want faults", err)
	}
	var got []string
	for _, f := range faults {
		if !strings.HasSuffix(f.What, "unlimited") { // the policies that are missing
			got = append(got, f.String())
		}
	}
	want := []string{
		"line 5: policies.user.quota: must be a whole number of at least 1, is 0",
		"line 7: policies.user.burst: must be a whole number of at least 1, is 0",
		"line 11: routes.POST /transfers.user: must be a whole number of at least 0, is five",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTextsThatAreNoFiles(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                   "must be one YAML document",
		"a: 1\n---\nb: 2\n":  "must be one YAML document",
		"policies:\n\tip: 1": "line 2: ",
		"policies: {":        "line 1: ",
		"- 1":                "must be a mapping",
		"policies: *a":       "must be a mapping",
	} {
		if _, err := policyfile.Parse([]byte(text), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

func FuzzParseSaysWhatIsWrongOrNothing(f *testing.F) {
	f.Add(policyfile.DefaultFile())
	f.Add([]byte("policies: {ip: {quota: 0}}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 8<<10 {
			t.Skip("no file that a person wrote")
		}
		l, err := policyfile.Parse(text, nil)
		if (l == nil) != (err != nil) || err != nil && err.Error() == "" {
			t.Fatalf("got %v and %v", l, err)
		}
	})
}
