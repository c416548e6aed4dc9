package ratelimit

import (
	"cmp"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Header names in Go's canonical spelling, under which net/http keeps them.
const (
	headerLimit      = "Ratelimit"        // RateLimit
	headerPolicy     = "Ratelimit-Policy" // RateLimit-Policy
	headerRetryAfter = "Retry-After"
	headerQuota      = "X-Ratelimit-Limit"
	headerRemaining  = "X-Ratelimit-Remaining"
	headerReset      = "X-Ratelimit-Reset"
)

// WriteHeaders tells a caller its limits, as draft-ietf-httpapi-ratelimit-headers-11 has it:
//
//	RateLimit-Policy: "user";q=10;w=5, "ip";q=300;w=3     every policy, tightest first
//	RateLimit: "user";r=5;t=3, "ip";r=299;t=3             what is left of it; on a 429 only the violated ones
//	Retry-After: 3                                        whole seconds, rounded up, at least 1; refused only
//	X-RateLimit-Limit, -Remaining, -Reset                 the tightest policy; Reset is the Unix time when it is whole
//
// The tightest policy has the fewest units left; among violated ones it has the longest wait. A policy that is
// Private shows only when it refused, one whose store did not answer not at all. A later stage of the same request
// adds its policies to those already written and replaces those it decided again. Of an Unavailable decision only
// Retry-After is written.
func WriteHeaders(h http.Header, d Decision) {
	if !d.Allowed && d.RetryAfter > 0 {
		h[headerRetryAfter] = []string{strconv.FormatInt(seconds(d.RetryAfter), 10)}
	}
	if d.Unavailable {
		return
	}
	var buf [8]member
	members := d.members(buf[:0])
	if len(members) == 0 {
		return
	}
	if members = appendEarlier(members, h); len(members) > 1 {
		slices.SortStableFunc(members, tighter)
		members = dropRepeated(members)
	}
	write(h, &d, members)
}

// member is one policy in the headers.
type member struct {
	name     string
	violated bool
	left     int64
	wait     time.Duration
	advert   string // its member of RateLimit-Policy
	earlier  string // its member of RateLimit, written by an earlier stage
	claim    int    // else: its index in the decision
}

func (d *Decision) members(members []member) []member {
	for i := range d.Claims {
		st, p := &d.Statuses[i], d.Claims[i].Policy
		violated := !st.Allowed
		if st.Exempt || st.Shadow || st.Unknown && !d.Remembered || p.Private && !violated {
			continue
		}
		m := member{name: p.Name, violated: violated, left: st.Remaining, wait: st.Wait, advert: p.ready().advert, claim: i}
		switch {
		case st.Never:
			m.wait = math.MaxInt64
		case st.Unknown: // the last one: nothing is said of what is left
			m.left = math.MaxInt64
		}
		members = append(members, m)
	}
	return members
}

// tighter orders members: violated before the others, the longest wait first; then the fewest units left first.
func tighter(a, b member) int {
	if a.violated != b.violated {
		if a.violated {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(b.wait, a.wait), cmp.Compare(a.left, b.left))
}

// dropRepeated leaves each policy once: the header cannot tell two keys of one policy apart, so the tighter one speaks.
func dropRepeated(members []member) []member {
	kept := members[:0]
	for _, m := range members {
		if !slices.ContainsFunc(kept, func(k member) bool { return k.name == m.name }) {
			kept = append(kept, m)
		}
	}
	return kept
}

// write sets the headers for members in their order. One text and one array hold all of them: this is on the path of
// every request.
func write(h http.Header, d *Decision, members []member) {
	var buf [320]byte
	text := buf[:0]
	for i := range members {
		if m := &members[i]; d.Allowed || m.violated {
			if len(text) > 0 {
				text = append(text, ", "...)
			}
			text = d.appendLimit(text, m)
		}
	}
	policy := len(text)
	for i := range members {
		if i > 0 {
			text = append(text, ", "...)
		}
		text = append(text, members[i].advert...)
	}
	quota := len(text)
	first := &members[0]
	if first.earlier != "" { // the trio is that of an earlier stage, and stands already
		all := string(text)
		values := []string{all[:policy], all[policy:]}
		h[headerLimit], h[headerPolicy] = values[0:1:1], values[1:2:2]
		return
	}
	text = strconv.AppendInt(text, d.Claims[first.claim].Policy.Limit.Capacity(), 10)
	remaining := len(text)
	text = strconv.AppendInt(text, first.left, 10)
	reset := len(text)
	text = strconv.AppendInt(text, unixCeil(d.At.Add(d.Statuses[first.claim].Reset)), 10)

	all := string(text)
	values := []string{all[:policy], all[policy:quota], all[quota:remaining], all[remaining:reset], all[reset:]}
	h[headerLimit], h[headerPolicy] = values[0:1:1], values[1:2:2]
	h[headerQuota], h[headerRemaining], h[headerReset] = values[2:3:3], values[3:4:4], values[4:5:5]
}

// appendLimit appends a member of RateLimit: "user";r=5;t=3.
func (d *Decision) appendLimit(text []byte, m *member) []byte {
	if m.earlier != "" {
		return append(text, m.earlier...)
	}
	text = append(text, '"')
	text = append(text, m.name...)
	text = append(text, `";r=`...)
	text = strconv.AppendInt(text, m.left, 10)
	text = append(text, ";t="...)
	return strconv.AppendInt(text, d.effectiveWindow(m.claim), 10)
}

// effectiveWindow is t, in seconds: refused, the wait; else, for a bucket, the time in which what is left flows in
// again, and for a window, until its oldest unit leaves.
func (d *Decision) effectiveWindow(i int) int64 {
	st, p := &d.Statuses[i], d.Claims[i].Policy
	switch {
	case st.Wait > 0:
		return seconds(st.Wait)
	case p.Limit.bucket():
		b, left := &p.ready().bucket, st.Remaining
		if st.Local { // only a part of what flows in is for this process
			left = min(left*max(d.instances, 1), b.Capacity)
		}
		return secondsOf(ceilDiv(left*b.Unit, b.Micro))
	case st.Oldest > 0:
		return seconds(st.Oldest)
	}
	return secondsOf(p.Limit.Length().Microseconds())
}

// advert is a policy's member of RateLimit-Policy: "user";q=10;w=5.
func advert(p *Policy) string {
	window := p.Limit.Length().Microseconds()
	if p.Limit.bucket() {
		window = p.Limit.Bucket().fill
	}
	return `"` + p.Name + `";q=` + strconv.FormatInt(p.Limit.Capacity(), 10) + ";w=" + strconv.FormatInt(secondsOf(window), 10)
}

// appendEarlier appends the policies that an earlier stage wrote, except those among members. It reads back what
// write wrote, so that stages need not know of each other.
func appendEarlier(members []member, h http.Header) []member {
	if len(h[headerLimit]) != 1 || len(h[headerPolicy]) != 1 {
		return members
	}
	ours := len(members)
	limits, adverts := h[headerLimit][0], h[headerPolicy][0]
	for adverts != "" {
		m := member{}
		m.earlier, limits, _ = strings.Cut(limits, ", ")
		m.advert, adverts, _ = strings.Cut(adverts, ", ")
		m.name, _, _ = strings.Cut(strings.TrimPrefix(m.advert, `"`), `"`)
		_, left, _ := strings.Cut(m.earlier, ";r=")
		left, _, _ = strings.Cut(left, ";")
		m.left, _ = strconv.ParseInt(left, 10, 64)
		if !slices.ContainsFunc(members[:ours], func(o member) bool { return o.name == m.name }) {
			members = append(members, m)
		}
	}
	return members
}

// seconds rounds up to whole seconds, at least 1.
func seconds(d time.Duration) int64 { return max(1, ceilDiv(int64(d), int64(time.Second))) }

// secondsOf rounds microseconds up to whole seconds, at least 1.
func secondsOf(micros int64) int64 { return max(1, ceilDiv(micros, 1_000_000)) }

// unixCeil is the Unix time in seconds, rounded up.
func unixCeil(t time.Time) int64 {
	if t.Nanosecond() > 0 {
		return t.Unix() + 1
	}
	return t.Unix()
}
