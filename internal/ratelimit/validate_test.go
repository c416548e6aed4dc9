package ratelimit_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"example.com/bankapi/internal/ratelimit"
)

func TestValidateNamesEveryFault(t *testing.T) {
	t.Parallel()
	valid := ratelimit.Policy{Name: "user", OnFailure: ratelimit.FailOpen, Limit: bucket(2, time.Second, 10)}
	for _, c := range []struct {
		name   string
		change func(*ratelimit.Policy)
		faults []string // each is named; none means valid
	}{
		{"as it is", func(*ratelimit.Policy) {}, nil},
		{"rate 0", func(p *ratelimit.Policy) { p.Limit.Quota = 0 }, []string{"quota: "}},
		{"rate below 0", func(p *ratelimit.Policy) { p.Limit.Quota = -1 }, []string{"quota: "}},
		{"all the quota there is", func(p *ratelimit.Policy) { p.Limit.Quota = math.MaxInt64 }, []string{"quota: "}},
		{"burst left out is the quota", func(p *ratelimit.Policy) { p.Limit.Burst = 0 }, nil},
		{"burst below 0", func(p *ratelimit.Policy) { p.Limit.Burst = -1 }, []string{"burst: "}},
		{"no period", func(p *ratelimit.Policy) { p.Limit.Period = 0 }, []string{"period: "}},
		{"a period below 0", func(p *ratelimit.Policy) { p.Limit.Period = -time.Second }, []string{"period: "}},
		{"half a microsecond", func(p *ratelimit.Policy) { p.Limit.Period = 500 }, []string{"period: "}},
		{"a microsecond and a half", func(p *ratelimit.Policy) { p.Limit.Period = 1500 }, []string{"period: "}},
		{"a thousand years", func(p *ratelimit.Policy) { p.Limit.Period = math.MaxInt64 }, []string{"period: "}},
		{"2e9 a second", func(p *ratelimit.Policy) { p.Limit = bucket(2_000_000_000, time.Second, 0) }, nil},
		{"a million a day", func(p *ratelimit.Policy) { p.Limit = bucket(1_000_000, 24*time.Hour, 1_000_000) }, nil},
		{"a prime a day", func(p *ratelimit.Policy) { p.Limit = bucket(999_983, 24*time.Hour, 0) }, []string{"quota, period, burst: "}},
		{"a product of 2^64", func(p *ratelimit.Policy) { p.Limit = bucket(1, 1<<15*time.Microsecond, 1<<49) },
			[]string{"quota, period, burst: "}},
		{"a day", func(p *ratelimit.Policy) { p.Limit = calendar(ratelimit.Day, 1000, nil) }, nil},
		{"a month in a zone", func(p *ratelimit.Policy) { p.Limit = calendar(ratelimit.Month, 1000, time.Local) }, nil},
		{"a day of an hour", func(p *ratelimit.Policy) {
			p.Limit = calendar(ratelimit.Day, 1000, nil)
			p.Limit.Period = time.Hour
		}, []string{"period: "}},
		{"a log of a day", func(p *ratelimit.Policy) {
			p.Limit = calendar(ratelimit.Day, 1000, nil)
			p.Limit.Algorithm = ratelimit.SlidingLog
		}, []string{"calendar: "}},
		{"a window that is none", func(p *ratelimit.Policy) { p.Limit = calendar(77, 1000, nil) }, []string{"calendar: "}},
		{"a zone without a calendar", func(p *ratelimit.Policy) { p.Limit.Zone = time.UTC }, []string{"zone: "}},
		{"an algorithm that is none", func(p *ratelimit.Policy) { p.Limit.Algorithm = 0 }, []string{"algorithm: "}},
		{"unlimited", func(p *ratelimit.Policy) { p.Limit = ratelimit.Limit{Algorithm: ratelimit.Unlimited} }, nil},
		{"unlimited, but", func(p *ratelimit.Policy) { p.Limit.Algorithm = ratelimit.Unlimited }, []string{"algorithm: "}},
		{"an algorithm yet unknown", func(p *ratelimit.Policy) { p.Limit.Algorithm = 77 }, []string{"algorithm: "}},
		{"a window with a burst", func(p *ratelimit.Policy) { p.Limit.Algorithm = ratelimit.FixedWindow }, []string{"burst: "}},
		{"a log too long to keep", func(p *ratelimit.Policy) {
			p.Limit = limit(ratelimit.SlidingLog, 1_000_000, time.Hour)
		}, []string{"quota: "}},
		{"no fail mode", func(p *ratelimit.Policy) { p.OnFailure = 0 }, []string{"on failure: "}},
		{"a share of what fails open", func(p *ratelimit.Policy) { p.Share = true }, nil},
		{"a share of what fails closed", func(p *ratelimit.Policy) { p.OnFailure, p.Share = ratelimit.FailClosed, true }, []string{"share: "}},
		{"no name", func(p *ratelimit.Policy) { p.Name = "" }, []string{"name: "}},
		{"a name for a header to choke on", func(p *ratelimit.Policy) { p.Name = `a",b` }, []string{"name: "}},
		{"upper case", func(p *ratelimit.Policy) { p.Name = "User" }, []string{"name: "}},
		{"nothing at all", func(p *ratelimit.Policy) { *p = ratelimit.Policy{} },
			[]string{"algorithm: ", "quota: ", "period: ", "name: ", "on failure: "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := valid
			c.change(&p)
			_, err := ratelimit.NewPolicy(p)
			if (err != nil) != (len(c.faults) > 0) {
				t.Fatalf("got %v, want faults %q", err, c.faults)
			}
			for _, fault := range c.faults {
				if !strings.Contains(err.Error(), fault) {
					t.Errorf("got %v, want it to name %q", err, fault)
				}
			}
			if err != nil && strings.Count(err.Error(), "\n")+1 != len(c.faults) {
				t.Errorf("got %v, want %d faults", err, len(c.faults))
			}
		})
	}
}

func TestDefaultPoliciesAreTheLessons(t *testing.T) {
	t.Parallel()
	d := ratelimit.DefaultPolicies()
	for _, c := range []struct {
		policy *ratelimit.Policy
		want   ratelimit.Policy
	}{
		{d.IP, ratelimit.Policy{Name: "ip", Limit: bucket(100, time.Second, 300), OnFailure: ratelimit.FailOpen}},
		{d.Anonymous, ratelimit.Policy{Name: "anonymous", Limit: bucket(5, time.Second, 20), OnFailure: ratelimit.FailOpen}},
		{d.User, ratelimit.Policy{Name: "user", Limit: bucket(2, time.Second, 10), OnFailure: ratelimit.FailOpen}},
		{d.LoginAccount, ratelimit.Policy{Name: "login-account", OnFailure: ratelimit.FailClosed,
			Limit: limit(ratelimit.SlidingLog, 5, 15*time.Minute)}},
		{d.LoginIP, ratelimit.Policy{Name: "login-ip", OnFailure: ratelimit.FailClosed,
			Limit: limit(ratelimit.SlidingLog, 20, 15*time.Minute)}},
		{d.SignUpIP, ratelimit.Policy{Name: "signup-ip", OnFailure: ratelimit.FailClosed,
			Limit: limit(ratelimit.SlidingLog, 20, time.Hour)}},
	} {
		got, want := c.policy, c.want
		if got.Name != want.Name || got.Limit != want.Limit || got.OnFailure != want.OnFailure {
			t.Errorf("got %+v, want %+v", *got, want)
		}
	}
}
