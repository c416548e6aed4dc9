package policyfile

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"example.com/bankapi/internal/ratelimit"
)

// Plans are the names that a user's plan can have; each stands in the file.
var Plans = []string{"free", "pro", "enterprise"}

// unlimited is the one way to say it. A rate or a burst of 0 is a fault, not a wish.
const unlimited = "unlimited"

// Parse reads a file and checks all of it. The routes are those that charge a customer's policies; the file may name
// no others. With none given, it may name any. An error is Faults: everything that is wrong.
func Parse(text []byte, routes []Route) (*Limits, error) {
	r := &reader{}
	if root, ok := r.read(text); ok {
		if l := root.limits(routes); len(r.faults) == 0 {
			return l, nil
		}
	}
	return nil, r.faults.sorted()
}

func (n node) limits(routes []Route) *Limits {
	l := &Limits{Instances: 1, plans: map[string]*Plan{}, costs: map[Route]Costs{}, principals: map[string]bool{}}
	sections := n.members("policies", "plans", "routes", "exemptions", "instances")
	for _, name := range []string{"policies", "plans", "routes"} {
		if _, there := sections[name]; !there {
			n.reader.fault(n.line, name, "is missing")
		}
	}
	if policies, there := sections["policies"]; there {
		policies.policies(l)
	}
	l.base = Plan{User: l.User, Daily: l.Daily}
	if plans, there := sections["plans"]; there {
		plans.plans(l)
	}
	if costs, there := sections["routes"]; there {
		costs.routes(l, routes)
	}
	if instances, there := sections["instances"]; there {
		l.Instances, _ = instances.number(1)
	}
	if exemptions, there := sections["exemptions"]; there {
		exemptions.exemptions(l)
	}
	return l
}

// plans reads what each plan changes.
func (n node) plans(l *Limits) {
	written := n.members(Plans...)
	for _, name := range Plans {
		plan, there := written[name]
		if !there {
			n.fault("%s is missing: users can have it; write %s: {} for the numbers above", name, name)
			continue
		}
		p := l.base
		for policy, change := range plan.members("user", "daily") {
			at := &p.User
			if policy == "daily" {
				at = &p.Daily
			}
			*at = change.changed(*at)
		}
		l.plans[name] = &p
	}
}

// changed is a policy with the numbers of a plan.
func (n node) changed(base *ratelimit.Policy) *ratelimit.Policy {
	if n.is(unlimited) {
		return nil
	}
	if base == nil {
		n.fault("changes a policy that is unlimited or at fault above")
		return nil
	}
	p := ratelimit.Policy{
		Name: base.Name, Limit: base.Limit, OnFailure: base.OnFailure,
		Private: base.Private, Share: base.Share, Shadow: base.Shadow,
	}
	return n.made(&p, n.numbers(&p.Limit, n.members("quota", "period", "burst")))
}

// routes reads what routes cost, and refuses a cost that some plan's policy could never admit.
func (n node) routes(l *Limits, known []Route) {
	for _, e := range n.entries() {
		method, pattern, _ := strings.Cut(e.key, " ")
		route := Route{Method: method, Pattern: pattern}
		if known != nil && !slices.Contains(known, route) {
			e.fault("is no route that charges a customer; write the method and the router's pattern, such as GET /accounts/{id}")
			continue
		}
		costs := usual
		for policy, cost := range e.members("user", "daily") {
			units, ok := cost.number(0)
			if !ok {
				continue
			}
			if policy == "daily" {
				costs.Daily = units
			} else {
				costs.User = units
			}
			cost.passes(l, policy, units)
		}
		l.costs[route] = costs
	}
}

// passes notes each plan in which a cost is above its policy's capacity: nobody could ever call the route.
func (n node) passes(l *Limits, policy string, cost int64) {
	check := func(plan string, p *Plan) {
		limit := p.User
		if policy == "daily" {
			limit = p.Daily
		}
		if limit != nil && cost > limit.Limit.Capacity() {
			n.fault("costs %d and policy %q allows %d at most%s: nobody could ever call it", cost, policy, limit.Limit.Capacity(), plan)
		}
	}
	check("", &l.base)
	for _, name := range Plans {
		if p := l.plans[name]; p != nil && (p.User != l.base.User || p.Daily != l.base.Daily) {
			check(" in plan "+name, p)
		}
	}
}

var userID = regexp.MustCompile(`^usr_[0-9a-v]{26}$`)

// exemptions reads who is not counted.
func (n node) exemptions(l *Limits) {
	lists := n.members("addresses", "principals")
	if addresses, there := lists["addresses"]; there {
		for _, item := range addresses.list() {
			if prefix, ok := item.prefix(); ok {
				l.addresses = append(l.addresses, prefix)
			}
		}
	}
	if principals, there := lists["principals"]; there {
		for _, item := range principals.list() {
			user, ok := item.text()
			if ok && !userID.MatchString(user) {
				item.fault("must be a user's id, usr_ and 26 characters, is %s", item.spelled())
			}
			l.principals[user] = true
		}
	}
}

// prefix is a range of addresses. One for everybody is a fault: that is what unlimited is for.
func (n node) prefix() (netip.Prefix, bool) {
	s, ok := n.text()
	if !ok {
		return netip.Prefix{}, false
	}
	prefix, err := netip.ParsePrefix(s)
	switch {
	case err != nil || prefix.Addr().Is4In6():
		n.fault("must be a range of addresses such as 203.0.113.0/24, is %s", n.spelled())
	case prefix.Bits() == 0:
		n.fault("is everybody; call a policy unlimited instead")
	case prefix != prefix.Masked():
		n.fault("has bits beyond its length; %s is meant", prefix.Masked())
	default:
		return prefix, true
	}
	return netip.Prefix{}, false
}
