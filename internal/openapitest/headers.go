package openapitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// cors begins the headers that any answer has if a page of another origin asked.
const cors = "Access-Control-"

// checkHeaders compares the headers of an answer with those of the response that a pointer names.
func (d *document) checkHeaders(response string, h http.Header, when []Condition) []string {
	var faults []string
	listed := map[string]bool{}
	for _, name := range d.names(join(response, "headers")) {
		listed[http.CanonicalHeaderKey(name)] = true
		if fault := d.checkHeader(d.follow(join(response, "headers", name)), h.Values(name), when); fault != "" {
			faults = append(faults, name+": "+fault)
		}
	}
	for name := range h {
		if d.headers[name] && !listed[name] && !strings.HasPrefix(name, cors) {
			faults = append(faults, name+": the document has this header, but not in this answer")
		}
	}
	slices.Sort(faults)
	return faults
}

func (d *document) checkHeader(pointer string, lines []string, when []Condition) string {
	switch len(lines) {
	case 0:
		if d.required(pointer, when) {
			return "the header is missing"
		}
		return ""
	case 1:
		schema := join(pointer, "schema")
		return d.mismatch(schema, d.read(schema, lines[0]))
	default:
		return fmt.Sprintf("the header is there %d times", len(lines))
	}
}

func (d *document) required(pointer string, when []Condition) bool {
	header := d.members(pointer)
	if unless, ok := header["x-required-unless"].(string); ok {
		return !slices.Contains(when, Condition(unless))
	}
	return header["required"] == true
}

var integer = regexp.MustCompile(`^(0|-?[1-9][0-9]*)$`)

// read makes of a header or parameter what its schema is about: a number if it wants an integer and this is one.
func (d *document) read(schema, text string) any {
	if d.members(schema)["type"] == "integer" && integer.MatchString(text) {
		return json.Number(text)
	}
	return text
}
