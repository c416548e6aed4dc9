package lab

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Places inside a time panel, from its top.
const (
	barsTop    = 38.0
	barsHeight = 92.0
	leftTop    = barsTop + barsHeight + 26
	leftHeight = 56.0
	timeHeight = leftTop + leftHeight + 58
)

func (p TimePanel) height() float64  { return timeHeight }
func (p TimePanel) legend() []string { return []string{"admitted", "refused", "left"} }

func (p TimePanel) draw(c *canvas, top float64) {
	c.text(marginLeft, top+14, "head", "start", p.Title)
	c.text(marginLeft, top+barsTop-6, "dim", "start", "requests per "+short(p.BinWidth))
	c.text(marginLeft, top+leftTop-6, "dim", "start", p.LeftName)
	p.drawTime(c, top)
	p.drawBins(c, top+barsTop)
	p.drawLeft(c, top+leftTop)
}

// x is the place of a moment.
func (p TimePanel) x(at time.Duration) float64 {
	return marginLeft + plotWidth*float64(at-p.From)/float64(p.To-p.From)
}

// drawTime draws the axis that both plots share, and the edges of windows through both.
func (p TimePanel) drawTime(c *canvas, top float64) {
	bottom := top + leftTop + leftHeight
	tick := step(p.To-p.From, 10)
	name, write := clockFace(p.To, tick)
	for at := (p.From + tick - 1).Truncate(tick); at <= p.To; at += tick {
		c.line(p.x(at), top+barsTop, p.x(at), bottom, "grid")
		c.line(p.x(at), bottom, p.x(at), bottom+4, "axis")
		c.text(p.x(at), bottom+17, "dim", "middle", write(at))
	}
	c.text(marginLeft+plotWidth, bottom+33, "dim", "end", "time, "+name)
	for _, at := range p.Edges {
		c.line(p.x(at), top+barsTop-4, p.x(at), bottom, "edge")
		switch {
		case len(p.Edges) > 6: // no room
		case p.x(at) > pictureWidth-marginRight-90:
			c.text(p.x(at)-4, top+barsTop-6, "dim", "end", "window begins")
		default:
			c.text(p.x(at)+4, top+barsTop-6, "dim", "start", "window begins")
		}
	}
}

// clockFace is how moments up to the last are written under an axis: 0.5 where they are seconds, else 23:50 or 0:02:30.
func clockFace(last, tick time.Duration) (name string, write func(time.Duration) string) {
	switch {
	case last < 10*time.Minute:
		return "seconds", func(at time.Duration) string { return strconv.FormatFloat(at.Seconds(), 'g', 6, 64) }
	case tick%time.Minute == 0:
		return "hours:minutes", func(at time.Duration) string {
			return fmt.Sprintf("%d:%02d", at/time.Hour, at/time.Minute%60)
		}
	}
	return "hours:minutes:seconds", func(at time.Duration) string {
		return fmt.Sprintf("%d:%02d:%02d", at/time.Hour, at/time.Minute%60, at/time.Second%60)
	}
}

func (p TimePanel) drawBins(c *canvas, top float64) {
	most := 1
	for _, b := range p.Bins {
		most = max(most, b.Admitted+b.Refused)
	}
	y := yAxis(c, top, barsHeight, most)
	for _, b := range p.Bins {
		x, width := p.x(b.From), p.x(b.From+p.BinWidth)-p.x(b.From)
		gap := min(1, width/6)
		bottom := y(0)
		for _, part := range []struct {
			class string
			count int
		}{{"admitted", b.Admitted}, {"refused", b.Refused}} {
			if part.count > 0 {
				height := max(y(0)-y(part.count), 2) // one of a thousand can be seen too
				bottom -= height
				c.rect(x+gap, bottom, width-2*gap, height, part.class)
			}
		}
	}
}

// drawLeft draws what is left as a line of steps.
func (p TimePanel) drawLeft(c *canvas, top float64) {
	y := yAxis(c, top, leftHeight, int(p.Capacity))
	var data strings.Builder
	lastX, lastY := "", ""
	for _, l := range thin(p.Left, p.To-p.From) {
		x, y := px(p.x(l.At)), px(y(int(l.Left)))
		switch {
		case lastX == "":
			fmt.Fprintf(&data, "M%s %s", x, y)
		case y != lastY:
			fmt.Fprintf(&data, "H%sV%s", x, y)
		default:
			continue
		}
		lastX, lastY = x, y
	}
	if lastX == "" {
		return
	}
	end := px(p.x(min(p.Left[len(p.Left)-1].At, p.To)))
	begin := px(p.x(p.Left[0].At))
	bottom := px(top + leftHeight)
	c.path("area", data.String()+"H"+end+"V"+bottom+"H"+begin+"Z")
	c.path("left", data.String()+"H"+end)
}

// thin keeps of the levels that fall on one pixel the first, the lowest, the highest and the last.
func thin(all []Level, length time.Duration) []Level {
	pixel := max(length/time.Duration(plotWidth), 1)
	var kept []Level
	for i := 0; i < len(all); {
		first, low, high, last := all[i], all[i], all[i], all[i]
		for ; i < len(all) && all[i].At/pixel == first.At/pixel; i++ {
			last = all[i]
			if last.Left < low.Left {
				low = last
			}
			if last.Left > high.Left {
				high = last
			}
		}
		kept = append(kept, first, low, high, last)
	}
	return kept
}

// yAxis draws a scale from 0 to at least most and returns the place of a value.
func yAxis(c *canvas, top, height float64, most int) func(int) float64 {
	tick := tickOf(most, int(height/26))
	end := (most + tick - 1) / tick * tick
	y := func(v int) float64 { return top + height*(1-float64(v)/float64(end)) }
	for v := 0; v <= end; v += tick {
		class := "grid"
		if v == 0 {
			class = "axis"
		}
		c.line(marginLeft, y(v), marginLeft+plotWidth, y(v), class)
		c.text(marginLeft-6, y(v)+4, "dim", "end", group(int64(v)))
	}
	return y
}

// tickOf is the smallest of 1, 2, 5, 10, 20, ... that divides most into at most n parts.
func tickOf(most, n int) int {
	for tick := 1; ; tick *= 10 {
		for _, t := range []int{tick, 2 * tick, 5 * tick} {
			if (most+t-1)/t <= n {
				return t
			}
		}
	}
}
