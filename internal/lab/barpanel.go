package lab

import "fmt"

// Measures of a bar panel.
const (
	barRow   = 26.0
	barThick = 16.0
	barLabel = 190.0
	barValue = 96.0 // room for the numbers behind the longest bar
)

func (p BarPanel) height() float64 { return 34 + barRow*float64(len(p.Bars)) + 52 }

func (p BarPanel) legend() []string {
	for _, b := range p.Bars {
		if b.Refused > 0 {
			return []string{"admitted", "refused"}
		}
	}
	return nil
}

func (p BarPanel) draw(c *canvas, top float64) {
	c.text(marginLeft, top+14, "head", "start", p.Title)
	top += 34
	bottom := top + barRow*float64(len(p.Bars))
	x := p.xAxis(c, top, bottom)
	for i, b := range p.Bars {
		y := top + barRow*float64(i) + (barRow-barThick)/2
		c.text(x(0)-8, y+12, "", "end", b.Label)
		c.rect(x(0), y, x(b.Admitted)-x(0), barThick, "admitted")
		value := group(int64(b.Admitted))
		if p.legend() != nil {
			c.rect(x(b.Admitted), y, x(b.Admitted+b.Refused)-x(b.Admitted), barThick, "refused")
			value += " of " + group(int64(b.Admitted+b.Refused))
		}
		c.text(x(b.Admitted+b.Refused)+8, y+12, "", "start", value)
	}
	if p.Limit > 0 {
		c.line(x(p.Limit), top-6, x(p.Limit), bottom, "limit")
		c.text(x(p.Limit), top-10, "limit-name", "middle", fmt.Sprint("limit ", p.Limit))
	}
}

func (p BarPanel) xAxis(c *canvas, top, bottom float64) func(int) float64 {
	most := max(1, p.Limit)
	for _, b := range p.Bars {
		most = max(most, b.Admitted+b.Refused)
	}
	const begin, width = marginLeft + barLabel, plotWidth - barLabel - barValue
	x := func(v int) float64 { return begin + width*float64(v)/float64(most) }
	tick := tickOf(most, 10)
	for v := 0; v <= most; v += tick {
		class := "grid"
		if v == 0 {
			class = "axis"
		}
		c.line(x(v), top, x(v), bottom, class)
		c.text(x(v), bottom+16, "dim", "middle", group(int64(v)))
	}
	c.text(begin+width, bottom+34, "dim", "end", p.Unit)
	return x
}
