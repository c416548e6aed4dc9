package openapitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"example.com/bankapi/api"
)

// document is an OpenAPI document. Everything in it is named by a pointer, such as /paths/~1me/get. It is safe for
// concurrent use.
type document struct {
	root       map[string]any
	operations []operation
	headers    map[string]bool // every header that some answer of the document has, in canonical form

	mu       sync.Mutex // guards compiler and compiled
	compiler *jsonschema.Compiler
	compiled map[string]*jsonschema.Schema
}

// contract is the document of this API, loaded once.
var contract = sync.OnceValue(func() *document {
	doc, err := parse(api.Spec)
	if err != nil {
		panic("openapitest: api/openapi.yaml: " + err.Error())
	}
	return doc
})

const location = "openapi:document"

func parse(spec []byte) (*document, error) {
	root, err := decode(spec)
	if err != nil {
		return nil, err
	}
	doc := &document{root: root, compiler: jsonschema.NewCompiler(), compiled: map[string]*jsonschema.Schema{}}
	doc.compiler.DefaultDraft(jsonschema.Draft2020)
	doc.compiler.AssertFormat()
	if err := doc.compiler.AddResource(location, root); err != nil {
		return nil, err
	}
	doc.operations = doc.listOperations()
	doc.headers = doc.listHeaders()
	return doc, nil
}

// decode reads YAML as the JSON it stands for, so that numbers keep their digits.
func decode(spec []byte) (map[string]any, error) {
	var tree any
	if err := yaml.Unmarshal(spec, &tree); err != nil {
		return nil, err
	}
	text, err := json.Marshal(tree)
	if err != nil {
		return nil, err
	}
	plain, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	root, ok := plain.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the document is a %T, not an object", plain)
	}
	return root, nil
}

// at returns what a pointer names, nil if that is nothing.
func (d *document) at(pointer string) any {
	var node any = d.root
	for _, token := range strings.Split(pointer, "/")[1:] {
		switch parent := node.(type) {
		case map[string]any:
			node = parent[unescape.Replace(token)]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(parent) {
				return nil
			}
			node = parent[i]
		default:
			return nil
		}
	}
	return node
}

// follow returns the pointer of what a pointer names after following references.
func (d *document) follow(pointer string) string {
	if members, ok := d.at(pointer).(map[string]any); ok {
		if ref, ok := members["$ref"].(string); ok {
			return d.follow(strings.TrimPrefix(ref, "#"))
		}
	}
	return pointer
}

// members returns the members of the object that a pointer names, after following references.
func (d *document) members(pointer string) map[string]any {
	members, _ := d.at(d.follow(pointer)).(map[string]any)
	return members
}

// names returns the names of those members, sorted.
func (d *document) names(pointer string) []string {
	return slices.Sorted(maps.Keys(d.members(pointer)))
}

var (
	escape   = strings.NewReplacer("~", "~0", "/", "~1")
	unescape = strings.NewReplacer("~1", "/", "~0", "~")
)

// join adds member names to a pointer.
func join(pointer string, names ...string) string {
	for _, name := range names {
		pointer += "/" + escape.Replace(name)
	}
	return pointer
}

// schema compiles the schema that a pointer names.
func (d *document) schema(pointer string) (*jsonschema.Schema, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if schema, ok := d.compiled[pointer]; ok {
		return schema, nil
	}
	schema, err := d.compiler.Compile(location + "#" + pointer)
	if err == nil {
		d.compiled[pointer] = schema
	}
	return schema, err
}

// mismatch says how a value fails a schema; "" if it does not.
func (d *document) mismatch(pointer string, value any) string {
	schema, err := d.schema(pointer)
	if err == nil {
		err = schema.Validate(value)
	}
	if err == nil {
		return ""
	}
	return strings.ReplaceAll(err.Error(), location, "")
}
