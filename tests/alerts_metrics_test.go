package tests

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// sample is a series of a process as Prometheus knows it, with the labels job and instance.
type sample struct {
	name   string
	labels map[string]string
}

var (
	sampleLine  = regexp.MustCompile(`(?m)^([a-z]\w*)(\{.*\})? \S+$`)
	sampleLabel = regexp.MustCompile(`(\w+)="((?:[^"\\]|\\.)*)"`)
)

// scrape reads a process's metrics.
func scrape(t *testing.T, s *server) (all []sample) {
	t.Helper()
	for _, line := range sampleLine.FindAllStringSubmatch(caller{URL: s.Admin}.raw(t, "/metrics"), -1) {
		x := sample{line[1], map[string]string{"job": "bankapi", "instance": s.Admin}}
		for _, label := range sampleLabel.FindAllStringSubmatch(line[2], -1) {
			x.labels[label[1]] = label[2]
		}
		all = append(all, x)
	}
	if len(all) == 0 {
		t.Fatalf("%s has no metrics", s.Admin)
	}
	return all
}

// selector is what a query asks for: a name, and what its labels must be.
type selector struct {
	name   string
	labels []matcher
}

type matcher struct{ label, how, value string }

func (s selector) String() string { return fmt.Sprint(s.name, s.labels) }

// finds reports whether a series is among those asked for. A label that the series does not have is none of them.
func (s selector) finds(x sample) bool {
	return x.name == s.name && !slices.ContainsFunc(s.labels, func(m matcher) bool { return !m.finds(x.labels) })
}

func (m matcher) finds(labels map[string]string) bool {
	value, has := labels[m.label]
	if !has {
		return false
	}
	match := value == m.value
	if strings.HasSuffix(m.how, "~") {
		match = regexp.MustCompile("^(?:" + m.value + ")$").MatchString(value)
	}
	return match != strings.HasPrefix(m.how, "!")
}

var (
	selectorText = regexp.MustCompile(`\b((?:bankapi|go|process)_\w+)(\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\})?`)
	matcherText  = regexp.MustCompile(`(\w+)\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"`)
	groupingText = regexp.MustCompile(`\b(?:by|without|on|ignoring)\s*\(([^)]*)\)`)
)

// selectors are those of a query. A variable of the dashboard is any value.
func selectors(query string) (all []selector) {
	for _, found := range selectorText.FindAllStringSubmatch(query, -1) {
		s := selector{name: found[1]}
		for _, m := range matcherText.FindAllStringSubmatch(found[2], -1) {
			s.labels = append(s.labels, matcher{m[1], m[2], strings.ReplaceAll(m[3], "$instance", ".*")})
		}
		all = append(all, s)
	}
	return all
}

// grouping are the labels by which a query groups.
func grouping(query string) []string {
	labels := map[string]bool{}
	for _, found := range groupingText.FindAllStringSubmatch(query, -1) {
		for label := range strings.SplitSeq(found[1], ",") {
			labels[strings.TrimSpace(label)] = true
		}
	}
	return slices.Sorted(maps.Keys(labels))
}
