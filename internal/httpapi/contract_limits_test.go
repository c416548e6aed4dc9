package httpapi_test

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/bankapi/api"
	"example.com/bankapi/internal/ratelimit"
	"example.com/bankapi/internal/ratelimit/policyfile"
)

// TestTheContractsFiguresAreTheBuiltInFiles holds the table of limits in openapi.yaml to limits.yaml.
func TestTheContractsFiguresAreTheBuiltInFiles(t *testing.T) {
	t.Parallel()
	text := string(api.Spec)
	limits := policyfile.Default()
	_, shut, _ := strings.Cut(text, "While the store that counts cannot be asked,")
	shut, _, _ = strings.Cut(shut, "refuse with `503`")
	policies := reflect.ValueOf(limits.Policies)
	for i := range policies.NumField() {
		p := policies.Field(i).Interface().(*ratelimit.Policy)
		_, row, found := strings.Cut(text, "| `"+p.Name+"` | ")
		row, _, _ = strings.Cut(row, "\n")
		if _, got, _ := strings.Cut(row, " | "); !found || got != allows(t, p)+" |" {
			t.Errorf("%s: the contract says %q, limits.yaml %q", p.Name, got, allows(t, p)+" |")
		}
		if closed := p.OnFailure == ratelimit.FailClosed; closed != strings.Contains(shut, "`"+p.Name+"`") {
			t.Errorf("%s fails closed: %v; the contract says the contrary", p.Name, closed)
		}
	}
	before, _, _ := strings.Cut(text, "## Sending money once")
	if rows := strings.Count(before, "    | `"); rows != policies.NumField() {
		t.Errorf("%d rows for %d policies", rows, policies.NumField())
	}
	prices := fmt.Sprintf("a transfer costs %d, a read %d |", limits.Costs("POST", "/transfers").User, limits.Costs("GET", "/me").User)
	if !strings.Contains(text, prices) {
		t.Errorf("the contract does not say %q", prices)
	}
}

// allows is a limit in the contract's words.
func allows(t *testing.T, p *ratelimit.Policy) string {
	t.Helper()
	l := p.Limit
	quota := thousands(l.Quota)
	switch {
	case l.Algorithm == ratelimit.TokenBucket && l.Period == time.Second && l.Capacity() == l.Quota:
		return quota + " a second"
	case l.Algorithm == ratelimit.TokenBucket && l.Period == time.Second:
		return thousands(l.Capacity()) + " at once, " + quota + " a second"
	case l.Algorithm == ratelimit.FixedWindow && l.Period == 24*time.Hour:
		return quota // the row says that it is a day's
	case l.Algorithm == ratelimit.SlidingLog && l.Period == time.Minute:
		return quota + " in any minute"
	case l.Algorithm == ratelimit.SlidingLog && l.Period == time.Hour:
		return quota + " in an hour"
	case l.Algorithm == ratelimit.SlidingLog:
		return fmt.Sprintf("%s in %.0f minutes", quota, l.Period.Minutes())
	}
	t.Fatalf("%s: the contract has no words for %+v", p.Name, l)
	return ""
}

// thousands writes 12,000.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
