package lab

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Report is a result for people: a title, a table, and what it shows.
type Report struct {
	Title   string
	Columns []string
	Rows    [][]string
	Lesson  string
}

// lineWidth is where prose is broken.
const lineWidth = 92

// Write prints the report. Columns are as wide as their widest cell, and a column of numbers is set flush right.
func (r Report) Write(w io.Writer) error {
	var b strings.Builder
	b.WriteString(wrap(r.Title) + "\n")
	widths, right := r.layout()
	r.line(&b, r.Columns, widths, right)
	for _, row := range r.Rows {
		r.line(&b, row, widths, right)
	}
	if r.Lesson != "" {
		b.WriteString("\n" + wrap(r.Lesson))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r Report) layout() (widths []int, right []bool) {
	for i, column := range r.Columns {
		width, numbers := utf8.RuneCountInString(column), true
		for _, row := range r.Rows {
			width = max(width, utf8.RuneCountInString(row[i]))
			numbers = numbers && (row[i] == "-" || strings.Trim(row[i], "0123456789.,") == "")
		}
		widths, right = append(widths, width), append(right, numbers)
	}
	return widths, right
}

func (r Report) line(b *strings.Builder, cells []string, widths []int, right []bool) {
	var line strings.Builder
	for i, cell := range cells {
		if i > 0 {
			line.WriteString("   ")
		}
		if right[i] {
			fmt.Fprintf(&line, "%*s", widths[i], cell)
		} else {
			fmt.Fprintf(&line, "%-*s", widths[i], cell)
		}
	}
	b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
}

// wrap breaks prose into lines.
func wrap(text string) string {
	return strings.Join(breakLines(text, lineWidth), "\n") + "\n"
}

// breakLines breaks text between words into lines of at most n characters.
func breakLines(text string, n int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > n {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(lines, line)
}
