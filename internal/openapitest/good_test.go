package openapitest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// exchange is a request and an answer to it.
type exchange struct {
	req *http.Request
	answer
}

func (e exchange) faults() []string { return contract().check(e.req, e.answer, nil) }

// eachGood calls f for each pair of the document with an exchange made of the document's own examples.
func eachGood(t *testing.T, f func(t *testing.T, good func() exchange)) {
	t.Helper()
	eachPair(t, func(string) bool { return true }, f)
}

// eachGoodAnswer is eachGood without the pairs whose answer, a shared one, has had its turn.
func eachGoodAnswer(t *testing.T, f func(t *testing.T, good func() exchange)) {
	t.Helper()
	had := map[string]bool{}
	eachPair(t, func(response string) bool {
		first := !had[response]
		had[response] = true
		return first
	}, f)
}

func eachPair(t *testing.T, wanted func(response string) bool, f func(t *testing.T, good func() exchange)) {
	t.Helper()
	doc := contract()
	for _, o := range doc.operations {
		for _, status := range doc.statuses(o) {
			if wanted(doc.follow(join(o.pointer, "responses", status))) {
				t.Run(o.String()+" "+status, func(t *testing.T) {
					f(t, func() exchange { return goodExchange(doc, o, status) })
				})
			}
		}
	}
}

func goodExchange(doc *document, o operation, status string) exchange {
	response := doc.follow(join(o.pointer, "responses", status))
	code, _ := strconv.Atoi(status)
	e := exchange{goodRequest(doc, o), answer{status: code, header: http.Header{}}}
	for _, name := range doc.names(join(response, "headers")) {
		header := doc.follow(join(response, "headers", name))
		value := doc.members(header)["example"]
		if value == nil {
			value = doc.members(join(header, "schema"))["const"]
		}
		e.header.Set(name, fmt.Sprint(value))
	}
	for _, mediaType := range doc.names(join(response, "content")) {
		e.header.Set("Content-Type", mediaType)
		e.body = goodBody(doc, join(response, "content", mediaType))
		if isJSON(mediaType) {
			break
		}
	}
	return e
}

func goodRequest(doc *document, o operation) *http.Request {
	path := o.path
	header := http.Header{}
	for _, pointer := range doc.parameters(o) {
		parameter := doc.members(pointer)
		name, value := parameter["name"].(string), fmt.Sprint(parameter["example"])
		switch parameter["in"] {
		case "path":
			path = strings.ReplaceAll(path, "{"+name+"}", value)
		case "header":
			header.Set(name, value)
		}
	}
	var body io.Reader
	if content := join(o.pointer, "requestBody", "content", "application/json"); doc.at(content) != nil {
		header.Set("Content-Type", "application/json")
		body = strings.NewReader(string(goodBody(doc, content)))
	}
	req := httptest.NewRequest(o.method, path, nil)
	if body != nil {
		req, _ = http.NewRequest(o.method, "http://bank.example"+path, body) // this one has a GetBody
	}
	req.Header = header
	return req
}

func goodBody(doc *document, content string) []byte {
	value, ok := doc.members(content)["example"]
	if names := doc.names(join(content, "examples")); len(names) > 0 {
		value, ok = doc.members(join(content, "examples", names[0]))["value"], true
	}
	if !ok {
		return []byte("a page")
	}
	body, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return body
}

func TestAcceptsTheDocumentsOwnExamples(t *testing.T) {
	t.Parallel()
	count := 0
	eachGood(t, func(t *testing.T, good func() exchange) {
		count++
		for _, fault := range good().faults() {
			t.Error(fault)
		}
	})
	if count < 100 {
		t.Errorf("only %d pairs", count)
	}
}

// bodies returns one changed copy of a body for each place in it: change is given every value and says whether to keep
// what it returns.
func bodies(t *testing.T, body []byte, change func(name string, value any) (any, bool)) map[string][]byte {
	t.Helper()
	var root any
	if err := json.Unmarshal(body, &root); err != nil {
		t.Fatal(err)
	}
	changed := map[string][]byte{}
	var visit func(at, name string, value any, put func(any))
	visit = func(at, name string, value any, put func(any)) {
		if other, ok := change(name, value); ok {
			put(other)
			changed[at], _ = json.Marshal(root)
			put(value)
		}
		switch value := value.(type) {
		case map[string]any:
			for _, member := range slices.Sorted(maps.Keys(value)) {
				visit(at+"/"+member, member, value[member], func(v any) {
					if value[member] = v; v == nil {
						delete(value, member)
					}
				})
			}
		case []any:
			for i := range value {
				visit(fmt.Sprint(at, "/", i), "", value[i], func(v any) { value[i] = v })
			}
		}
	}
	visit("", "", root, func(v any) { root = v })
	return changed
}

func replaceBody(t *testing.T, req *http.Request, old, new string) {
	t.Helper()
	reader, err := req.GetBody()
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(reader)
	if err != nil || !strings.Contains(string(body), old) {
		t.Fatalf("%q is not in %s (%v)", old, body, err)
	}
	changed := strings.Replace(string(body), old, new, 1)
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(changed)), nil }
}
