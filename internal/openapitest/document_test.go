package openapitest

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"example.com/bankapi/api"
)

func TestDocumentIsOpenAPI31(t *testing.T) {
	t.Parallel()
	file, err := os.Open("testdata/openapi-3.1.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	meta, err := jsonschema.UnmarshalJSON(file)
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("openapi:3.1", meta); err != nil {
		t.Fatal(err)
	}
	if err := compiler.MustCompile("openapi:3.1").Validate(contract().root); err != nil {
		t.Error(err)
	}
}

func TestDocumentIsCleanYAML(t *testing.T) {
	t.Parallel()
	for i, line := range strings.Split(strings.TrimSuffix(string(api.Spec), "\n"), "\n") {
		switch {
		case strings.ContainsAny(line, "\t\r"):
			t.Errorf("line %d has a tab or a carriage return", i+1)
		case strings.TrimRight(line, " ") != line:
			t.Errorf("line %d ends in a space", i+1)
		case strings.Contains(line, "<<:"):
			t.Errorf("line %d merges maps, which YAML 1.2 does not know", i+1)
		}
	}
}

// walk visits every object and array element of the document, parents first.
func walk(pointer string, node any, visit func(pointer string, members map[string]any)) {
	switch node := node.(type) {
	case map[string]any:
		visit(pointer, node)
		for name, child := range node {
			walk(join(pointer, name), child, visit)
		}
	case []any:
		for i, child := range node {
			walk(join(pointer, fmt.Sprint(i)), child, visit)
		}
	}
}

func TestReferencesLeadSomewhereAndNothingIsUnused(t *testing.T) {
	t.Parallel()
	doc := contract()
	used := map[string]bool{}
	walk("", doc.root, func(pointer string, members map[string]any) {
		ref, ok := members["$ref"].(string)
		if !ok {
			return
		}
		used[strings.TrimPrefix(ref, "#")] = true
		if !strings.HasPrefix(ref, "#/") || doc.at(strings.TrimPrefix(ref, "#")) == nil {
			t.Errorf("%s refers to %s, which is not there", pointer, ref)
		}
	})
	for _, name := range outside {
		used[join("/components/responses", name)] = true
	}
	for _, kind := range []string{"parameters", "headers", "responses", "schemas", "examples"} {
		for _, name := range doc.names("/components/" + kind) {
			if pointer := join("/components", kind, name); !used[pointer] {
				t.Errorf("%s is not used", pointer)
			}
		}
	}
}

// schemas returns a pointer to each schema that stands in the document, nested ones too.
func schemas(doc *document) []string {
	var all []string
	var nested func(pointer string)
	nested = func(pointer string) {
		members, ok := doc.at(pointer).(map[string]any)
		if !ok { // true and false are schemas as well
			return
		}
		all = append(all, pointer)
		for name, child := range members {
			switch name {
			case "properties":
				for property := range child.(map[string]any) {
					nested(join(pointer, name, property))
				}
			case "allOf", "anyOf", "oneOf":
				for i := range child.([]any) {
					nested(join(pointer, name, fmt.Sprint(i)))
				}
			case "items", "not", "if", "then", "else", "propertyNames", "additionalProperties", "unevaluatedProperties":
				nested(join(pointer, name))
			}
		}
	}
	for _, name := range doc.names("/components/schemas") {
		nested(join("/components/schemas", name))
	}
	walk("", doc.root, func(pointer string, members map[string]any) {
		if _, ok := members["schema"].(map[string]any); ok && !strings.Contains(pointer, "/properties/") {
			nested(join(pointer, "schema"))
		}
	})
	return all
}

// keywords are those the document uses. An unknown one is no error in JSON Schema, so a misspelt one would check nothing.
var keywords = regexp.MustCompile(`^(\$ref|type|const|enum|format|pattern|min(imum|Length|Items)|max(imum|Length|Items)|exclusiveMinimum|default|` +
	`properties|required|additionalProperties|unevaluatedProperties|propertyNames|items|allOf|anyOf|oneOf|not|if|then|else|description)$`)

func TestSchemasCompileAndUseKnownKeywords(t *testing.T) {
	t.Parallel()
	doc := contract()
	for _, pointer := range schemas(doc) {
		if _, err := doc.schema(pointer); err != nil {
			t.Errorf("%s: %v", pointer, err)
		}
		for name := range doc.at(pointer).(map[string]any) {
			if !keywords.MatchString(name) {
				t.Errorf("%s: unknown keyword %q", pointer, name)
			}
		}
	}
}

// open are the schemas that say what others have in common. Those others are closed.
var open = []string{"/components/schemas/ProblemMembers", "/components/schemas/Page"}

func TestObjectsAreClosed(t *testing.T) {
	t.Parallel()
	doc := contract()
	for _, pointer := range schemas(doc) {
		members := doc.at(pointer).(map[string]any)
		_, additional := members["additionalProperties"]
		_, unevaluated := members["unevaluatedProperties"]
		if members["type"] == "object" && !additional && !unevaluated && !slices.Contains(open, pointer) {
			t.Errorf("%s is an object that takes any member", pointer)
		}
	}
}

func TestExamplesAreValid(t *testing.T) {
	t.Parallel()
	doc := contract()
	count := 0
	walk("", doc.root, func(pointer string, members map[string]any) {
		if members["schema"] == nil || strings.Contains(pointer, "/properties/") {
			return
		}
		examples := map[string]any{}
		if example, ok := members["example"]; ok {
			examples["example"] = example
		}
		for _, name := range doc.names(join(pointer, "examples")) {
			examples[name] = doc.members(join(pointer, "examples", name))["value"]
		}
		for name, value := range examples {
			count++
			if number, ok := value.(json.Number); ok && strings.Contains(pointer, "/headers/") {
				value = doc.read(join(pointer, "schema"), number.String())
			}
			if fault := doc.mismatch(join(pointer, "schema"), value); fault != "" {
				t.Errorf("%s, %s: %s", pointer, name, fault)
			}
		}
		page := doc.members(join(pointer, "schema"))["type"] == "string" && strings.Contains(pointer, "/content/")
		if len(examples) == 0 && !page && !strings.HasSuffix(pointer, "/headers/Cache-Control") {
			t.Errorf("%s has no example", pointer)
		}
	})
	if count < 100 {
		t.Errorf("found only %d examples: the walk is broken", count)
	}
}

func TestOperationsFollowTheRules(t *testing.T) {
	t.Parallel()
	doc := contract()
	ids := map[any]string{}
	for _, o := range doc.operations {
		members := doc.members(o.pointer)
		must := func(ok bool, rule string) {
			if !ok {
				t.Errorf("%s: %s", o, rule)
			}
		}
		has := func(status string) bool { return slices.Contains(doc.statuses(o), status) }
		tags, _ := members["tags"].([]any)
		security, overridden := members["security"].([]any)
		secured := !overridden || len(security) > 0
		limited := !slices.Contains(tags, any("service"))
		_, takesBody := members["requestBody"]

		must(ids[members["operationId"]] == "" && members["operationId"] != nil, "needs an operationId of its own")
		must(members["summary"] != nil && len(tags) == 1, "needs a summary and one tag")
		must(!has("default"), "has a default response: list what can happen")
		must(has("500"), "does not list 500")
		must(has("429") == limited, "lists 429 if and only if it is behind the limits")
		must(has("401") == (secured || o.path == "/sessions"), "lists 401 if and only if it looks at credentials")
		must(has("413") == takesBody && has("415") == takesBody, "lists 413 and 415 if and only if it takes a body")
		must(!limited || has("400") && has("503"), "does not list 400 and 503")
		ids[members["operationId"]] = o.String()

		for _, pointer := range doc.parameters(o) {
			parameter := doc.members(pointer)
			must(parameter["description"] != nil, fmt.Sprint("describe the parameter ", parameter["name"]))
			must(parameter["in"] != "path" || strings.Contains(o.path, fmt.Sprintf("{%s}", parameter["name"])), fmt.Sprint("no such parameter: ", parameter["name"]))
		}
		must(strings.Count(o.path, "{") == countPath(doc, o), "declare each parameter of the path")
	}
}

func countPath(doc *document, o operation) (n int) {
	for _, pointer := range doc.parameters(o) {
		if doc.members(pointer)["in"] == "path" {
			n++
		}
	}
	return n
}

// TestAnswersFollowTheRules: what each answer needs, by its status.
func TestAnswersFollowTheRules(t *testing.T) {
	t.Parallel()
	doc := contract()
	needs := map[string][]string{
		"201": {"X-Request-Id"}, "401": {"WWW-Authenticate"}, "429": {"Retry-After", "RateLimit", "RateLimit-Policy"}, "503": {"Retry-After"},
	}
	for _, o := range doc.operations {
		for _, status := range doc.statuses(o) {
			response := doc.follow(join(o.pointer, "responses", status))
			headers := doc.names(join(response, "headers"))
			for _, name := range append([]string{"X-Request-Id", "Cache-Control"}, needs[status]...) {
				if !slices.Contains(headers, name) {
					t.Errorf("%s %s has no %s", o, status, name)
				}
			}
			if status >= "400" {
				checkProblems(t, doc, response, status)
			}
		}
	}
}

// checkProblems: an error is a problem, of types with the status of the answer, each with its example.
func checkProblems(t *testing.T, doc *document, response, status string) {
	t.Helper()
	content := join(response, "content", "application/problem+json")
	if got := doc.names(join(response, "content")); !slices.Equal(got, []string{"application/problem+json"}) {
		t.Errorf("%s: an error has the content types %v", response, got)
	}
	types := []string{doc.follow(join(content, "schema"))}
	if list, ok := doc.members(join(content, "schema"))["anyOf"].([]any); ok {
		types = nil
		for i := range list {
			types = append(types, doc.follow(join(content, "schema", "anyOf", fmt.Sprint(i))))
		}
	}
	shown := map[any]bool{}
	for _, name := range doc.names(join(content, "examples")) {
		example, _ := doc.members(join(content, "examples", name))["value"].(map[string]any)
		shown[example["type"]] = true
	}
	for _, pointer := range types {
		properties := doc.members(join(pointer, "properties"))
		constant := func(name string) any { return properties[name].(map[string]any)["const"] }
		if constant("status") != json.Number(status) {
			t.Errorf("%s: %s has the status %v", response, pointer, constant("status"))
		}
		if !shown[constant("type")] {
			t.Errorf("%s: no example of %s", response, pointer)
		}
	}
}
