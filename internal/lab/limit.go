package lab

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"example.com/bankapi/internal/ratelimit"
)

var limitForm = regexp.MustCompile(`^(\d+) ?/ ?([0-9.]*[a-zµ][0-9a-zµ.]*)(?: burst (\d+))?$`)

// ParseLimit reads a limit as people write it: "10/10s", "100/min", "10/1s burst 20". The algorithm is left open.
func ParseLimit(text string) (ratelimit.Limit, error) {
	part := limitForm.FindStringSubmatch(strings.Join(strings.Fields(text), " "))
	if part == nil {
		return ratelimit.Limit{}, fmt.Errorf(`%q is no limit; write units/time such as 10/10s, 100/min or "10/1s burst 20"`, text)
	}
	period, err := parsePeriod(part[2])
	if err != nil {
		return ratelimit.Limit{}, fmt.Errorf("%q: %w", text, err)
	}
	limit := ratelimit.Limit{Period: period}
	limit.Quota, err = strconv.ParseInt(part[1], 10, 64)
	if err == nil && part[3] != "" {
		limit.Burst, err = strconv.ParseInt(part[3], 10, 64)
		if limit.Burst == 0 {
			return limit, fmt.Errorf("%q: a burst is at least 1; leave it out for a bucket of the quota's size", text)
		}
	}
	if err != nil {
		return limit, fmt.Errorf("%q: the number is too large", text)
	}
	return limit, nil
}

// units are the times that may stand alone, and the one that time.ParseDuration does not know.
var units = map[string]time.Duration{
	"ms": time.Millisecond, "s": time.Second, "m": time.Minute, "min": time.Minute, "h": time.Hour, "hour": time.Hour,
	"d": 24 * time.Hour, "day": 24 * time.Hour,
}

func parsePeriod(text string) (time.Duration, error) {
	if unit, ok := units[text]; ok {
		return unit, nil
	}
	if period, err := time.ParseDuration(text); err == nil {
		return period, nil
	}
	return 0, fmt.Errorf("%s is no time; write 500ms, 10s, 1m, 1h or day", text)
}

// FormatLimit writes what ParseLimit reads; for a calendar, "20/day in Europe/Berlin".
func FormatLimit(l ratelimit.Limit) string {
	if l.Calendar != 0 {
		return fmt.Sprintf("%d/%s in %s", l.Quota, l.Calendar, l.Zone)
	}
	text := fmt.Sprintf("%d/%s", l.Quota, short(l.Period))
	if l.Burst != 0 {
		text += fmt.Sprintf(" burst %d", l.Burst)
	}
	return text
}

// short is a duration without the zeros: 10s, 1m, 24h and not 24h0m0s.
func short(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// ParseAlgorithm reads the name of an algorithm.
func ParseAlgorithm(name string) (ratelimit.Algorithm, error) {
	var names []string
	for a := ratelimit.TokenBucket; a <= ratelimit.LeakyBucket; a++ {
		if a.String() == name {
			return a, nil
		}
		names = append(names, a.String())
	}
	return 0, fmt.Errorf("%q is no algorithm; there are %s", name, strings.Join(names, ", "))
}
