package client

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Pacer is an [http.RoundTripper] that holds a request back until the limits have room for it, so that it is not
// refused. It learns them from the RateLimit fields of the answers, and needs no settings but what requests cost.
//
// The first request to a route goes alone: its answer says which policies there are. After that, requests go as soon
// as there is room, in the order in which they came. A request that would have to wait longer than MaxWait or than its
// context lasts is not sent: the error is a *[WaitError].
//
// One Pacer is for one caller (one token), who uses his limits alone. Where others share a limit, where one name stands
// for several counters (one for each account), and with sliding windows, which do not say when a request of more than
// one unit fits, a 429 is rare and not impossible.
//
// The zero value is ready. Once in use its fields must not change; it is safe for concurrent use.
type Pacer struct {
	Base    http.RoundTripper                            // sends requests; nil means http.DefaultTransport
	Cost    func(policy string, req *http.Request) int64 // of a request under a policy; nil means 1
	MaxWait time.Duration                                // the longest wait; 0 means 30 s
	Now     func() time.Time                             // nil means time.Now

	once       sync.Once
	turn       chan struct{} // holds a token while a request is first in line
	mu         sync.Mutex
	changed    chan struct{} // closed at the next answer
	allowances map[string]*allowance
	routes     map[route][]string // which policies an answer named
	scouts     int                // requests out to routes not known yet
}

var _ http.RoundTripper = (*Pacer)(nil)

// WaitError says that a request was not sent, because the limits have no room for it for longer than its caller waits.
type WaitError struct {
	Policy string        // the limit
	Wait   time.Duration // until there is room
}

// Error says which limit and how long.
func (e *WaitError) Error() string {
	return fmt.Sprintf("bankapi: not sent: the limit %q has no room for %v", e.Policy, e.Wait.Round(time.Millisecond))
}

// route is what the policies of a request depend on, as far as can be seen from outside.
type route struct {
	method, head string // the path's first part
	member       bool   // it carries credentials
}

func routeOf(req *http.Request) route {
	head, _, _ := strings.Cut(strings.TrimPrefix(req.URL.Path, "/"), "/")
	return route{method: req.Method, head: head, member: req.Header.Get("Authorization") != ""}
}

// ticket is a request that may go.
type ticket struct {
	sent    time.Time
	route   route
	scout   bool
	charges []charge
}

type charge struct {
	policy     string
	cost, mark float64
}

// RoundTrip implements [http.RoundTripper].
func (p *Pacer) RoundTrip(req *http.Request) (*http.Response, error) {
	t, err := p.admit(req)
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, err
	}
	res, err := base(p.Base).RoundTrip(req)
	p.answered(t, res)
	return res, err
}

// admit waits until the request may go. Only the first in line looks: a cheap request does not overtake a dear one for
// ever.
func (p *Pacer) admit(req *http.Request) (ticket, error) {
	p.once.Do(p.init)
	ctx := req.Context()
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return ticket{}, ctx.Err()
	}
	for {
		t, policy, wait, changed := p.look(req)
		if wait == 0 {
			return t, nil
		}
		if wait != forever && (wait > maxWait(p.MaxWait) || p.late(ctx, wait)) {
			return t, &WaitError{Policy: policy, Wait: wait}
		}
		if err := pause(ctx, wait, changed); err != nil {
			return t, err
		}
	}
}

func (p *Pacer) init() {
	p.turn, p.changed = make(chan struct{}, 1), make(chan struct{})
	p.allowances, p.routes = map[string]*allowance{}, map[route][]string{}
}

func (p *Pacer) late(ctx context.Context, wait time.Duration) bool {
	deadline, limited := ctx.Deadline()
	return limited && clock(p.Now).Add(wait).After(deadline)
}

// pause ends after d, at the next answer, or with the context.
func pause(ctx context.Context, d time.Duration, changed <-chan struct{}) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-changed:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// look charges a request that may go now, or says which policy it waits for, how long, and what ends the wait early.
func (p *Pacer) look(req *http.Request) (t ticket, policy string, wait time.Duration, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := clock(p.Now)
	t = ticket{sent: now, route: routeOf(req)}
	names, known := p.routes[t.route]
	if !known {
		if p.scouts > 0 {
			return t, "", forever, p.changed
		}
		names, t.scout = p.near(t.route), true
	}
	for _, name := range names {
		if w := p.allowances[name].wait(now, p.cost(name, req)); w > wait {
			policy, wait = name, w
		}
	}
	if wait > 0 {
		return t, policy, wait, p.changed
	}
	if t.scout {
		p.scouts++
	}
	for _, name := range names {
		cost := p.cost(name, req)
		t.charges = append(t.charges, charge{name, cost, p.allowances[name].charge(now, cost)})
	}
	return t, "", 0, nil
}

// near is what is presumed of a route that is not known: the policies of those that are, for the same kind of caller.
func (p *Pacer) near(unknown route) []string {
	var names []string
	for r, named := range p.routes {
		if r.member == unknown.member {
			names = union(names, named)
		}
	}
	return names
}

func (p *Pacer) cost(policy string, req *http.Request) float64 {
	if p.Cost == nil {
		return 1
	}
	return float64(p.Cost(policy, req))
}

// answered takes in an answer, or that there was none.
func (p *Pacer) answered(t ticket, res *http.Response) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.tell()
	if t.scout {
		p.scouts--
	}
	now := clock(p.Now)
	for _, c := range t.charges {
		p.allowances[c.policy].answered(now, c.cost)
	}
	if res != nil {
		p.learn(t, now, res)
	}
}

// tell wakes the first in line.
func (p *Pacer) tell() {
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *Pacer) learn(t ticket, now time.Time, res *http.Response) {
	quotas, _ := Quotas(res.Header)
	names := p.learnQuotas(quotas)
	if _, known := p.routes[t.route]; len(names) > 0 || !known {
		p.routes[t.route] = names
	}
	refused := res.StatusCode == http.StatusTooManyRequests
	lefts, _ := Lefts(res.Header)
	for _, l := range lefts {
		if a := p.allowances[l.Policy]; a != nil {
			c := t.charge(l.Policy, a)
			a.learn(l, t.sent, now, c, refused)
		}
	}
}

// learnQuotas keeps what is allowed, and returns the policies' names. What does not count requests cannot be paced.
func (p *Pacer) learnQuotas(quotas []Quota) []string {
	var names []string
	for _, q := range quotas {
		if q.Unit != "requests" {
			continue
		}
		names = union(names, []string{q.Policy})
		if p.allowances[q.Policy] == nil {
			p.allowances[q.Policy] = &allowance{}
		}
		p.allowances[q.Policy].quota, p.allowances[q.Policy].window = float64(q.Units), q.Window
	}
	return names
}

// charge is what the request was charged under a policy: nothing, if it was sent before the policy was known.
func (t ticket) charge(policy string, a *allowance) charge {
	for _, c := range t.charges {
		if c.policy == policy {
			return c
		}
	}
	return charge{policy: policy, mark: a.done}
}

// union appends what is not there yet.
func union(names, more []string) []string {
	for _, m := range more {
		if !slices.Contains(names, m) {
			names = append(names, m)
		}
	}
	return names
}
