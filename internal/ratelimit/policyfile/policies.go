package policyfile

import (
	"errors"
	"strings"
	"time"

	"example.com/bankapi/internal/ratelimit"
)

// stage is a policy that the API asks for.
type stage struct {
	name  string
	at    func(*ratelimit.Policies) **ratelimit.Policy
	guard bool // of passwords: it may not be unlimited
}

// stages are the policies of the file, in the order in which a request meets them.
var stages = []stage{
	{"ip", func(p *ratelimit.Policies) **ratelimit.Policy { return &p.IP }, false},
	{"anonymous", func(p *ratelimit.Policies) **ratelimit.Policy { return &p.Anonymous }, false},
	{"user", func(p *ratelimit.Policies) **ratelimit.Policy { return &p.User }, false},
	{"daily", func(p *ratelimit.Policies) **ratelimit.Policy { return &p.Daily }, false},
	{"transfers-account", func(p *ratelimit.Policies) **ratelimit.Policy { return &p.TransfersAccount }, false},
	{"global-transfers", func(p *ratelimit.Policies) **ratelimit.Policy { return &p.GlobalTransfers }, false},
	{"login-account", func(p *ratelimit.Policies) **ratelimit.Policy { return &p.LoginAccount }, true},
	{"login-ip", func(p *ratelimit.Policies) **ratelimit.Policy { return &p.LoginIP }, true},
	{"signup-ip", func(p *ratelimit.Policies) **ratelimit.Policy { return &p.SignUpIP }, true},
	{"password-reset-email", func(p *ratelimit.Policies) **ratelimit.Policy { return &p.PasswordResetEmail }, true},
}

// policies reads every policy. One that is missing is a fault, and so is one that nobody asks for.
func (n node) policies(l *Limits) {
	names := make([]string, len(stages))
	for i, s := range stages {
		names[i] = s.name
	}
	written := n.members(names...)
	for _, s := range stages {
		policy, there := written[s.name]
		switch {
		case !there:
			n.fault("%s is missing; to have no such limit, write %s: %s", s.name, s.name, unlimited)
		case policy.is(unlimited) && s.guard:
			policy.fault("guards passwords and cannot be unlimited")
		case !policy.is(unlimited):
			*s.at(&l.Policies) = policy.policy(s.name)
		}
	}
}

// policy reads one policy; nil if a fault was noted.
func (n node) policy(name string) *ratelimit.Policy {
	p := ratelimit.Policy{Name: name}
	m := n.members("algorithm", "quota", "period", "calendar", "zone", "burst", "on_failure", "mode", "private")
	bad := n.numbers(&p.Limit, m)
	for _, needed := range []string{"algorithm", "quota", "period", "on_failure"} {
		_, calendar := m["calendar"]
		if _, there := m[needed]; !there && (needed != "period" || !calendar) {
			n.fault("%s is missing", needed)
			bad = true
		}
	}
	bad = n.calendar(&p.Limit, m) || bad
	if v, there := m["algorithm"]; there {
		i, ok := v.word(algorithms...)
		p.Limit.Algorithm = ratelimit.Algorithm(i + 1)
		bad = bad || !ok
	}
	if v, there := m["on_failure"]; there {
		i, ok := v.word("open", "closed", "share")
		p.OnFailure = []ratelimit.FailMode{ratelimit.FailOpen, ratelimit.FailClosed, ratelimit.FailOpen}[i]
		p.Share = i == 2
		bad = bad || !ok
	}
	if v, there := m["mode"]; there {
		i, ok := v.word("enforce", "shadow")
		p.Shadow = i == 1
		bad = bad || !ok
	}
	if v, there := m["private"]; there {
		yes, ok := v.yes()
		p.Private = yes
		bad = bad || !ok
	}
	return n.made(&p, bad)
}

// algorithms are the names of ratelimit's, in its order.
var algorithms = func() (names []string) {
	for a := ratelimit.TokenBucket; a <= ratelimit.LeakyBucket; a++ {
		names = append(names, a.String())
	}
	return names
}()

// numbers reads quota, period and burst into a limit, and reports whether one of them is at fault.
func (n node) numbers(limit *ratelimit.Limit, m map[string]node) (bad bool) {
	if v, there := m["quota"]; there {
		quota, ok := v.number(1)
		limit.Quota, bad = quota, bad || !ok
	}
	if v, there := m["burst"]; there {
		burst, ok := v.number(1) // 0 means the quota to ratelimit, and nothing good to a reader
		limit.Burst, bad = burst, bad || !ok
	}
	if v, there := m["period"]; there {
		period, ok := v.duration()
		limit.Period, bad = period, bad || !ok
	}
	return bad
}

// calendar reads days and months into a limit, and reports whether one of its members is at fault.
func (n node) calendar(limit *ratelimit.Limit, m map[string]node) (bad bool) {
	if v, there := m["calendar"]; there {
		i, ok := v.word(ratelimit.Day.String(), ratelimit.Month.String())
		limit.Calendar, bad = ratelimit.Day+ratelimit.Calendar(i), !ok
	}
	if v, there := m["zone"]; there {
		name, ok := v.text()
		zone, err := time.LoadLocation(name)
		if ok && (err != nil || name == "" || name == "Local") {
			v.fault("must be a time zone such as UTC or Europe/Berlin, is %s", v.spelled())
			ok = false
		}
		limit.Zone, bad = zone, bad || !ok
	}
	return bad
}

// made prepares a policy whose members were read. What ratelimit finds wrong is told at the member it names.
func (n node) made(p *ratelimit.Policy, bad bool) *ratelimit.Policy {
	if bad {
		return nil
	}
	if err := p.Limit.Validate(); err != nil {
		for _, e := range parts(err) {
			n.misfit(e.Error())
		}
		return nil
	}
	made, err := ratelimit.NewPolicy(*p)
	if err != nil {
		n.fault("%v", err)
	}
	return made
}

// misfit notes a fault that begins with the name of a member, "burst: ...".
func (n node) misfit(text string) {
	name, what, _ := strings.Cut(text, ": ")
	line, field := n.line, join(n.field, name)
	for _, e := range (node{&reader{}, n.value, n.line, ""}).entries() {
		if e.key == name {
			line = e.line
		}
	}
	if strings.Contains(name, ", ") {
		field, what = n.field, text
	}
	n.reader.fault(line, field, "%s", what)
}

// parts takes joined errors apart.
func parts(err error) []error {
	if joined, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err); ok {
		return joined.Unwrap()
	}
	return []error{err}
}
