package lab

import (
	"context"
	"fmt"
	"time"

	"example.com/bankapi/internal/ratelimit"
)

// Keys is what three choices of the key make of the same crowd.
type Keys struct {
	Experiment string   `json:"experiment"`
	Title      string   `json:"title"`
	Traffic    string   `json:"traffic"`
	Lesson     string   `json:"lesson"`
	Layouts    []Layout `json:"layouts"`
}

// Layout is one choice: who passed the limits, of how many.
type Layout struct {
	Name     string `json:"name"`
	Office   Passed `json:"office"`
	Attacker Passed `json:"attacker"`
}

// Passed counts requests.
type Passed struct {
	Admitted int `json:"admitted"`
	Asked    int `json:"asked"`
}

func (p Passed) String() string { return fmt.Sprintf("%d of %d", p.Admitted, p.Asked) }

// visitor is one request of the crowd.
type visitor struct {
	address    string
	credential string // what it shows; made up by the attacker
	genuine    bool
}

// CompareKeys lets an office of 30 behind one address and an attacker who makes up a new API key for each request come
// at one moment, to limits keyed by address, keyed by what the caller says it is, and layered as this bank does.
func CompareKeys() Keys {
	ten := fixed(ratelimit.Policy{Name: "ten", OnFailure: ratelimit.FailClosed, Limit: ratelimit.Limit{
		Algorithm: ratelimit.TokenBucket, Quota: 1, Period: time.Second, Burst: 10,
	}})
	byAddress := func(d *desk, v visitor) bool {
		return d.take(0, ratelimit.Claim{Policy: ten, Key: ratelimit.Key{Owner: v.address}, Cost: 1}).Allowed
	}
	byCredential := func(d *desk, v visitor) bool {
		return d.take(0, ratelimit.Claim{Policy: ten, Key: ratelimit.Key{Owner: v.credential}, Cost: 1}).Allowed
	}
	return Keys{
		Experiment: "keys",
		Title:      "Whose requests are counted together",
		Traffic: "an office of 30 sends 2 requests each from one address, an attacker 60, each with a new made-up key; " +
			"a bucket of 10 at 1/s, and the bank's own limits",
		Lesson: "By address, colleagues are refused for each other. By the key a caller shows, an attacker shows a new one each " +
			"time and is never refused. So: a generous limit by address first, a strict one for whoever has not proved who " +
			"it is, and the fair one by the identity that was verified. The attacker's few that pass get a 401.",
		Layouts: []Layout{
			{Name: "by address", Office: visit(office(), byAddress), Attacker: visit(attacker(), byAddress)},
			{Name: "by key shown", Office: visit(office(), byCredential), Attacker: visit(attacker(), byCredential)},
			{Name: "layered", Office: visit(office(), layered()), Attacker: visit(attacker(), layered())},
		},
	}
}

func office() (crowd []visitor) {
	for i := range 60 {
		crowd = append(crowd, visitor{address: "102.89.4.17", credential: fmt.Sprint("colleague-", i/2), genuine: true})
	}
	return crowd
}

func attacker() (crowd []visitor) {
	for i := range 60 {
		crowd = append(crowd, visitor{address: "198.51.100.66", credential: fmt.Sprint("made-up-", i)})
	}
	return crowd
}

func visit(crowd []visitor, admits func(*desk, visitor) bool) Passed {
	passed := Passed{Asked: len(crowd)}
	d := newDesk()
	for _, v := range crowd {
		if admits(d, v) {
			passed.Admitted++
		}
	}
	return passed
}

// layered is the order of the bank's router: the address; a unit of the anonymous policy for a credential not seen
// before, given back if it proves genuine; then the user.
func layered() func(*desk, visitor) bool {
	policies := ratelimit.DefaultPolicies()
	known := map[string]bool{}
	return func(d *desk, v visitor) bool {
		address := ratelimit.Key{Owner: v.address}
		if !d.take(0, ratelimit.Claim{Policy: policies.IP, Key: address, Cost: 1}).Allowed {
			return false
		}
		if !known[v.credential] {
			slot := ratelimit.Claim{Policy: policies.Anonymous, Key: address, Cost: 1, ID: v.credential}
			if !d.take(0, slot).Allowed {
				return false
			}
			if !v.genuine {
				return true // as far as the look-up, which answers 401
			}
			must(d.store.Give(context.Background(), []ratelimit.Claim{slot}))
			known[v.credential] = true
		}
		user := ratelimit.Claim{Policy: policies.User, Key: ratelimit.Key{Owner: v.credential}, Cost: ratelimit.CostRead}
		return d.take(0, user).Allowed
	}
}

// fixed is NewPolicy for a policy written in this package.
func fixed(p ratelimit.Policy) *ratelimit.Policy {
	made, err := ratelimit.NewPolicy(p)
	must(err)
	return made
}

// Report is a line for each layout.
func (k Keys) Report() Report {
	r := Report{Title: k.Traffic, Columns: []string{"limit", "office admitted", "attacker admitted"}, Lesson: k.Lesson}
	for _, l := range k.Layouts {
		r.Rows = append(r.Rows, []string{l.Name, l.Office.String(), l.Attacker.String()})
	}
	return r
}

// Picture has a bar for each layout and party.
func (k Keys) Picture() Picture {
	panel := BarPanel{Unit: "requests"}
	for _, l := range k.Layouts {
		panel.Bars = append(panel.Bars,
			Bar{Label: l.Name + ": office", Admitted: l.Office.Admitted, Refused: l.Office.Asked - l.Office.Admitted},
			Bar{Label: l.Name + ": attacker", Admitted: l.Attacker.Admitted, Refused: l.Attacker.Asked - l.Attacker.Admitted})
	}
	return Picture{Title: k.Title, Subtitle: k.Traffic, Panels: []Panel{panel}}
}
