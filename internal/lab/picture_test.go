package lab

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"example.com/bankapi/internal/ratelimit"
)

func pictures(t *testing.T) map[string]Picture {
	t.Helper()
	shared, err := Share(t.Context(), Fleet{})
	if err != nil {
		t.Fatal(err)
	}
	nothing, err := Free("<&>", nil, ratelimit.Limit{Quota: 1, Period: time.Second}, nil)
	if err != nil {
		t.Fatal(err)
	}
	flood, err := Burst(maxRequests, 1, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	much, err := Free("flood", flood, ratelimit.Limit{Quota: 10, Period: time.Second}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]Picture{
		"boundary": Boundary().Picture(), "timeline": TokenTimeline().Picture(), "compare": Compare().Picture(),
		"keys": CompareKeys().Picture(), "property": CheckProperty([]int64{1}).Picture(), "daily": DailyQuota().Picture(),
		"sweep": SweepMemory().Picture(), "shared": shared.Picture(), "nothing": nothing.Picture(),
		"calendar": CalendarWindows(2026, []*time.Location{time.UTC}).Picture(), "flood": much.Picture(),
	}
}

func TestPicturesAreWellFormedAndForBothThemes(t *testing.T) {
	t.Parallel()
	for name, p := range pictures(t) {
		var b bytes.Buffer
		if err := p.WriteSVG(&b); err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{"NaN", "Inf", `width="-`, `height="-`} {
			if strings.Contains(b.String(), bad) {
				t.Errorf("%s: has %s", name, bad)
			}
		}
		if !strings.Contains(b.String(), "prefers-color-scheme: dark") {
			t.Errorf("%s: has no dark colours", name)
		}
		if b.Len() > 200_000 {
			t.Errorf("%s: %d bytes", name, b.Len())
		}
		decoder := xml.NewDecoder(&b)
		for {
			if _, err := decoder.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Errorf("%s: %v", name, err)
				break
			}
		}
	}
}

func TestPanelsCountEveryRequestOnce(t *testing.T) {
	t.Parallel()
	for _, run := range append(Compare().Runs, Boundary().Runs...) {
		p := run.panel()
		var admitted, refused int
		for _, b := range p.Bins {
			admitted, refused = admitted+b.Admitted, refused+b.Refused
			if b.From < p.From || b.From+p.BinWidth > p.To {
				t.Errorf("%s: a bin at %v outside %v to %v", p.Title, b.From, p.From, p.To)
			}
		}
		if admitted != run.Admitted || refused != run.Refused {
			t.Errorf("%s: the bars show %d and %d", p.Title, admitted, refused)
		}
	}
}

func TestThinKeepsTheExtremes(t *testing.T) {
	t.Parallel()
	var all []Level
	for i := range 100_000 {
		all = append(all, Level{At: time.Duration(i), Left: 5})
	}
	all[31_415].Left, all[31_416].Left = 0, 10
	kept := thin(all, 100_000)
	if len(kept) > 5*int(plotWidth) {
		t.Errorf("%d levels kept", len(kept))
	}
	seen := map[int64]bool{}
	for _, l := range kept {
		seen[l.Left] = true
	}
	if !seen[0] || !seen[10] {
		t.Error("an extreme was lost")
	}
}

func TestTicks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ most, n, want int }{{1, 3, 1}, {3, 3, 1}, {4, 3, 2}, {7, 3, 5}, {20, 3, 10}, {31, 10, 5}, {100_000, 2, 50_000}} {
		if got := tickOf(c.most, c.n); got != c.want {
			t.Errorf("%d in at most %d: %d, want %d", c.most, c.n, got, c.want)
		}
	}
}

func ExampleComparison_Report() {
	report := Compare().Report()
	report.Lesson = ""
	var b bytes.Buffer
	_ = report.Write(&b)
	fmt.Print(b.String())
	// Output:
	// 25 requests between 9 s and 11 s, 10 per 10 s; the bucket holds 10 and gains 1 a second
	//
	// algorithm         limit    admitted   refused   max in any 10s   longest wait
	// fixed-window      10/10s         20         5               20   9.167s
	// sliding-log       10/10s         10        15               10   9.167s
	// sliding-counter   10/10s         11        14               11   1.167s
	// token-bucket      10/10s         12        13               12   917ms
}
