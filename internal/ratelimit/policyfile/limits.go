package policyfile

import (
	_ "embed"
	"fmt"
	"net/http"
	"net/netip"

	"example.com/bankapi/internal/ratelimit"
)

// Limits is a policy file made ready. It is immutable and shared between goroutines; asking it allocates nothing.
type Limits struct {
	// Policies holds the numbers of the file. A policy that the file calls unlimited is nil.
	ratelimit.Policies

	// Instances is how many processes share the stores. While a store is away, each admits this part of the limits that
	// say share. It is read at start: a change waits for the next one.
	Instances int64

	plans      map[string]*Plan
	base       Plan
	costs      map[Route]Costs
	addresses  []netip.Prefix
	principals map[string]bool
}

// Plan is what one plan makes of a customer's policies; nil is unlimited.
type Plan struct {
	User  *ratelimit.Policy
	Daily *ratelimit.Policy
}

// Route is a method and the pattern of a route, as the router has it: "POST", "/transfers".
type Route struct{ Method, Pattern string }

// String spells the route as the file does: "POST /transfers".
func (r Route) String() string { return r.Method + " " + r.Pattern }

// Costs is what one request to a route takes of a customer's policies.
type Costs struct{ User, Daily int64 }

// usual is what a request costs where the file says nothing.
var usual = Costs{User: ratelimit.CostRead, Daily: 1}

// Plan returns a plan's policies. A plan that the file does not know has the numbers of the file itself.
func (l *Limits) Plan(name string) *Plan {
	if p := l.plans[name]; p != nil {
		return p
	}
	return &l.base
}

// Named returns a policy by its name, with the numbers of a plan; nil if there is none or it is unlimited.
func (l *Limits) Named(name, plan string) *ratelimit.Policy {
	switch name {
	case "user":
		return l.Plan(plan).User
	case "daily":
		return l.Plan(plan).Daily
	}
	for _, s := range stages {
		if s.name == name {
			return *s.at(&l.Policies)
		}
	}
	return nil
}

// Costs returns what a request to a route costs. HEAD costs as GET does.
func (l *Limits) Costs(method, pattern string) Costs {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if c, ok := l.costs[Route{method, pattern}]; ok {
		return c
	}
	return usual
}

// ExemptsAddresses reports whether any address is exempt, so that callers need not find out theirs if none is.
func (l *Limits) ExemptsAddresses() bool { return len(l.addresses) > 0 }

// ExemptsAddress reports whether an address is exempt.
func (l *Limits) ExemptsAddress(addr netip.Addr) bool {
	for _, prefix := range l.addresses {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}

// ExemptsPrincipal reports whether a user, "usr_...", is exempt.
func (l *Limits) ExemptsPrincipal(user string) bool { return l.principals[user] }

//go:embed limits.yaml
var defaultFile []byte

// DefaultFile returns the text of the built-in file.
func DefaultFile() []byte { return append([]byte(nil), defaultFile...) }

// Default returns the limits of the built-in file.
func Default() *Limits {
	l, err := Parse(defaultFile, nil)
	if err != nil {
		panic(fmt.Sprintf("policyfile: limits.yaml: %v", err)) // a test would have found it
	}
	return l
}
