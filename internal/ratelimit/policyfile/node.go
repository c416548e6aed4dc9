package policyfile

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// reader walks the text and collects what is wrong with it.
type reader struct{ faults Faults }

func (r *reader) fault(line int, field, format string, args ...any) {
	r.faults = append(r.faults, Fault{Line: line, Field: field, What: fmt.Sprintf(format, args...)})
}

// node is a value of the file, and where it stands.
type node struct {
	*reader
	value ast.Node
	line  int
	field string
}

func (n node) fault(format string, args ...any) { n.reader.fault(n.line, n.field, format, args...) }

// read parses the text. ok is false if it is no YAML.
func (r *reader) read(text []byte) (root node, ok bool) {
	file, err := parser.ParseBytes(text, 0, parser.AllowDuplicateMapKey()) // entries finds duplicates, all of them
	if err != nil {
		line, what := 1, err.Error()
		if syntax, ok := errors.AsType[yaml.Error](err); ok && syntax.GetToken() != nil {
			line, what = syntax.GetToken().Position.Line, syntax.GetMessage()
		}
		r.fault(line, "", "%s", what)
		return node{}, false
	}
	if len(file.Docs) != 1 || file.Docs[0].Body == nil {
		r.fault(1, "", "must be one YAML document that is not empty")
		return node{}, false
	}
	return node{reader: r, value: file.Docs[0].Body, line: 1}, true
}

// entry is a key of a mapping and its value.
type entry struct {
	key string
	node
}

// entries returns what a mapping has, in the order of the file. An empty value is an empty mapping.
func (n node) entries() []entry {
	var values []*ast.MappingValueNode
	switch v := n.value.(type) {
	case *ast.MappingNode:
		values = v.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{v}
	case *ast.NullNode:
	default:
		n.fault("must be a mapping")
	}
	seen := map[string]int{}
	var found []entry
	for _, v := range values {
		key, line := keyOf(v), v.Key.GetToken().Position.Line
		e := entry{key, node{n.reader, v.Value, line, join(n.field, key)}}
		if first, twice := seen[key]; twice {
			e.fault("stands on line %d already", first)
			continue
		}
		seen[key] = line
		found = append(found, e)
	}
	return found
}

func keyOf(v *ast.MappingValueNode) string {
	if s, ok := v.Key.(*ast.StringNode); ok {
		return s.Value
	}
	return v.Key.String()
}

func join(field, key string) string {
	if field == "" {
		return key
	}
	return field + "." + key
}

// members returns the entries of a mapping by their names. A name that is not known is a fault.
func (n node) members(known ...string) map[string]node {
	found := map[string]node{}
	for _, e := range n.entries() {
		if !contains(known, e.key) {
			e.fault("there is no such member; known are %s", strings.Join(known, ", "))
			continue
		}
		found[e.key] = e.node
	}
	return found
}

func contains(known []string, name string) bool {
	for _, k := range known {
		if k == name {
			return true
		}
	}
	return false
}

// text is a string. ok is false if a fault was noted, here and below.
func (n node) text() (string, bool) {
	if s, ok := n.value.(*ast.StringNode); ok {
		return s.Value, true
	}
	n.fault("must be a text")
	return "", false
}

// is reports whether the value is one word.
func (n node) is(word string) bool {
	s, ok := n.value.(*ast.StringNode)
	return ok && s.Value == word
}

// number is a whole number of at least least.
func (n node) number(least int64) (int64, bool) {
	if i, ok := n.value.(*ast.IntegerNode); ok {
		switch v := i.Value.(type) {
		case int64:
			if v >= least {
				return v, true
			}
		case uint64:
			if int64(v) >= least { // above 2^63 it is negative
				return int64(v), true
			}
		}
	}
	n.fault("must be a whole number of at least %d, is %s", least, n.spelled())
	return 0, false
}

// duration is a length of time such as 1s, 15m or 24h.
func (n node) duration() (time.Duration, bool) {
	if s, ok := n.value.(*ast.StringNode); ok {
		if d, err := time.ParseDuration(s.Value); err == nil {
			return d, true
		}
	}
	n.fault("must be a length of time such as 1s, 15m or 24h, is %s", n.spelled())
	return 0, false
}

func (n node) yes() (bool, bool) {
	if b, ok := n.value.(*ast.BoolNode); ok {
		return b.Value, true
	}
	n.fault("must be true or false, is %s", n.spelled())
	return false, false
}

// word is one of several, and returns its index.
func (n node) word(words ...string) (int, bool) {
	for i, w := range words {
		if n.is(w) {
			return i, true
		}
	}
	n.fault("must be %s, is %s", strings.Join(words, " or "), n.spelled())
	return 0, false
}

// list is a sequence. An empty value is an empty list.
func (n node) list() []node {
	var items []node
	switch v := n.value.(type) {
	case *ast.SequenceNode:
		for i, item := range v.Values {
			items = append(items, node{n.reader, item, item.GetToken().Position.Line, fmt.Sprintf("%s[%d]", n.field, i)})
		}
	case *ast.NullNode:
	default:
		n.fault("must be a list")
	}
	return items
}

// spelled is the value as the file has it, for a fault.
func (n node) spelled() string {
	s := strings.TrimSpace(n.value.String())
	if s == "" || strings.Contains(s, "\n") || len(s) > 40 {
		return "something else"
	}
	return s
}
