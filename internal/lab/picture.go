package lab

import (
	"fmt"
	"io"
	"time"

	"example.com/bankapi/internal/ratelimit"
)

// Picture is a result as one drawing; its panels stand below each other.
type Picture struct {
	Title    string
	Subtitle string
	Panels   []Panel
}

// Panel is a part of a picture: a TimePanel or a BarPanel.
type Panel interface {
	height() float64
	draw(c *canvas, top float64)
	legend() []string // classes of the marks it uses
}

// TimePanel shows what was admitted and refused over time, and below it what was left.
type TimePanel struct {
	Title    string
	From, To time.Duration
	BinWidth time.Duration
	Bins     []Bin           // those with requests
	Left     []Level         // in order of time
	Capacity int64           // the most that can be left
	LeftName string          // what is left: "tokens left"
	Edges    []time.Duration // where windows begin
}

// Bin is the requests of one BinWidth.
type Bin struct {
	From     time.Duration
	Admitted int
	Refused  int
}

// BarPanel shows a few totals.
type BarPanel struct {
	Title string
	Unit  string // what is counted
	Limit int    // drawn as a line, if not 0
	Bars  []Bar
}

// Bar is one total, in its two parts.
type Bar struct {
	Label    string
	Admitted int
	Refused  int
}

// maxBins is how many bars find room beside each other.
const maxBins = 60

// panel shows a run.
func (r Run) panel() TimePanel {
	width := step(r.End-r.Begin, maxBins)
	p := TimePanel{
		Title: fmt.Sprintf("%s %s: %s admitted, %s refused, at most %s in any %s", r.Limit.Algorithm, FormatLimit(r.Limit),
			group(int64(r.Admitted)), group(int64(r.Refused)), group(r.MaxInSpan), short(r.Limit.Length())),
		From: r.Begin.Truncate(width), To: (r.End + width - 1).Truncate(width), BinWidth: width,
		Left: r.Left, Capacity: r.Limit.Capacity(), LeftName: "units left",
	}
	if r.Limit.Algorithm == ratelimit.TokenBucket {
		p.LeftName = "tokens left"
	}
	for _, a := range r.Answers {
		from := a.At.Truncate(width)
		if n := len(p.Bins); n == 0 || p.Bins[n-1].From != from {
			p.Bins = append(p.Bins, Bin{From: from})
		}
		if bin := &p.Bins[len(p.Bins)-1]; a.Allowed {
			bin.Admitted++
		} else {
			bin.Refused++
		}
	}
	p.Edges = edges(r.Limit, p.From, p.To)
	return p
}

// edges are the beginnings of windows between two moments, if the algorithm has windows, of one length, and they are few.
func edges(l ratelimit.Limit, from, to time.Duration) []time.Duration {
	windows := l.Algorithm == ratelimit.FixedWindow || l.Algorithm == ratelimit.SlidingCounter
	if !windows || l.Calendar != 0 || (to-from)/l.Period > maxBins/2 {
		return nil
	}
	var found []time.Duration
	for at := from.Truncate(l.Period); at < to; at += l.Period {
		if at > from {
			found = append(found, at)
		}
	}
	return found
}

// steps are lengths of time that people can add up.
var steps = []time.Duration{
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond,
	50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
	7 * 24 * time.Hour, 14 * 24 * time.Hour, 28 * 24 * time.Hour, 56 * 24 * time.Hour,
}

// step is the shortest of steps that divides a length into at most n parts.
func step(length time.Duration, n int) time.Duration {
	for _, s := range steps {
		if length <= time.Duration(n)*s {
			return s
		}
	}
	return steps[len(steps)-1]
}

// WriteSVG draws the picture. It carries colours for a light and for a dark page and takes the reader's.
func (p Picture) WriteSVG(w io.Writer) error {
	height := headHeight
	marks := map[string]bool{}
	for _, panel := range p.Panels {
		height += panel.height()
		for _, class := range panel.legend() {
			marks[class] = true
		}
	}
	c := newCanvas(height, p.Title, p.Subtitle)
	c.text(marginLeft, 28, "title", "start", p.Title)
	for i, line := range breakLines(p.Subtitle, 120) {
		c.text(marginLeft, 48+15*float64(i), "dim", "start", line)
	}
	c.legend(marks)
	top := headHeight
	for _, panel := range p.Panels {
		panel.draw(c, top)
		top += panel.height()
	}
	return c.write(w)
}
