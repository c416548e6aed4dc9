package client

import (
	"net/http"
	"time"
)

// Quota is what a policy allows: one member of the field RateLimit-Policy.
type Quota struct {
	Policy string
	Units  int64         // q
	Window time.Duration // w, in which so many are allowed; 0 if not said
	Unit   string        // qu, what is counted: "requests" if not said
}

// Left is what is left of a policy: one member of the field RateLimit.
type Left struct {
	Policy string
	Units  int64         // r
	Window time.Duration // t, after which waiting longer gains nothing; 0 if not said
}

// Quotas reads RateLimit-Policy (draft-ietf-httpapi-ratelimit-headers-11). Parameters that it does not know are skipped.
// A field with a fault anywhere says nothing: ok is false, as it is for one that is missing.
func Quotas(h http.Header) (quotas []Quota, ok bool) {
	for _, m := range members(h["Ratelimit-Policy"]) {
		q, isNumber := m.number("q")
		w, unsaid := m.seconds("w")
		unit, isText := m.text("qu", "requests")
		if !isNumber || !isText || !unsaid && w <= 0 {
			return nil, false
		}
		quotas = append(quotas, Quota{Policy: m.name, Units: q, Window: w, Unit: unit})
	}
	return quotas, len(quotas) > 0
}

// Lefts reads RateLimit, with the same care.
func Lefts(h http.Header) (lefts []Left, ok bool) {
	for _, m := range members(h["Ratelimit"]) {
		r, isNumber := m.number("r")
		t, unsaid := m.seconds("t")
		if !isNumber || !unsaid && t < 0 {
			return nil, false
		}
		lefts = append(lefts, Left{Policy: m.name, Units: r, Window: t})
	}
	return lefts, len(lefts) > 0
}
