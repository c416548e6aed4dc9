package lab

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// Measures of a picture, in pixels.
const (
	pictureWidth = 900.0
	headHeight   = 84.0
	marginLeft   = 56.0
	marginRight  = 28.0
	plotWidth    = pictureWidth - marginLeft - marginRight
)

// style has every colour twice. Blue and orange can be told apart with any colour vision, and in grey.
const style = `<style>
svg { font: 12px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif }
.paper { fill: #ffffff } text { fill: #1f2328 } .dim { fill: #59636e } .title { font-size: 18px; font-weight: 600 }
.head { font-size: 13px; font-weight: 600 } .grid { stroke: #e1e6eb } .axis { stroke: #818b98 }
.edge { stroke: #818b98; stroke-dasharray: 2 3 } .limit { stroke: #b3261e; stroke-width: 1.5; stroke-dasharray: 5 3 }
.admitted { fill: #2a6fbb } .refused { fill: #ee9b4a } .left { stroke: #6b4ba3; fill: none; stroke-width: 1.5 }
.area { fill: #6b4ba3; fill-opacity: .12 } .limit-name { fill: #b3261e }
@media (prefers-color-scheme: dark) {
.paper { fill: #0d1117 } text { fill: #e6edf3 } .dim { fill: #9da7b1 } .grid { stroke: #262c34 } .axis { stroke: #6e7681 }
.edge { stroke: #8b949e } .limit { stroke: #ff8b82 } .admitted { fill: #5aa2ee } .refused { fill: #c9752d }
.left { stroke: #b797f0 } .area { fill: #b797f0 } .limit-name { fill: #ff8b82 }
}
</style>
`

// canvas is an SVG in the making. Classes stand for colours.
type canvas struct{ b strings.Builder }

func newCanvas(height float64, title, description string) *canvas {
	c := &canvas{}
	fmt.Fprintf(&c.b, `<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%g" viewBox="0 0 %g %g" role="img">`+"\n",
		pictureWidth, height, pictureWidth, height)
	fmt.Fprintf(&c.b, "<title>%s</title>\n<desc>%s</desc>\n%s", escape(title), escape(description), style)
	c.rect(0, 0, pictureWidth, height, "paper")
	return c
}

func (c *canvas) rect(x, y, width, height float64, class string) {
	fmt.Fprintf(&c.b, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`+"\n", class, px(x), px(y), px(width), px(height))
}

func (c *canvas) line(x1, y1, x2, y2 float64, class string) {
	fmt.Fprintf(&c.b, `<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`+"\n", class, px(x1), px(y1), px(x2), px(y2))
}

func (c *canvas) path(class, data string) {
	fmt.Fprintf(&c.b, `<path class="%s" d="%s"/>`+"\n", class, data)
}

// text writes one line; anchor is start, middle or end.
func (c *canvas) text(x, y float64, class, anchor, text string) {
	fmt.Fprintf(&c.b, `<text class="%s" x="%s" y="%s" text-anchor="%s">%s</text>`+"\n", class, px(x), px(y), anchor, escape(text))
}

// legend explains the marks used, at the top right.
func (c *canvas) legend(used map[string]bool) {
	x := pictureWidth - marginRight
	for _, class := range []string{"left", "refused", "admitted"} {
		if !used[class] {
			continue
		}
		x -= 7 * float64(len(class))
		c.text(x, 27, "", "start", class)
		x -= 16
		if class == "left" {
			c.line(x-2, 23, x+12, 23, class)
		} else {
			c.rect(x, 18, 10, 10, class)
		}
		x -= 18
	}
}

func (c *canvas) write(w io.Writer) error {
	_, err := io.WriteString(w, c.b.String()+"</svg>\n")
	return err
}

// px is a coordinate, to a tenth of a pixel.
func px(v float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0")
}

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder does not fail
	return b.String()
}
