package problems_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"example.com/bankapi/api"
	"example.com/bankapi/docs/problems"
)

// example is an error as the document shows it.
type example struct {
	body  map[string]any
	Type  string
	Title string
}

// documented returns the document's example of each type that has a page, by slug.
func documented(t *testing.T) map[string]example {
	t.Helper()
	var document struct {
		Components struct {
			Examples map[string]struct{ Value map[string]any }
		}
	}
	if err := yaml.Unmarshal(api.Spec, &document); err != nil {
		t.Fatal(err)
	}
	bySlug := map[string]example{}
	for name, e := range document.Components.Examples {
		uri, _ := e.Value["type"].(string)
		title, _ := e.Value["title"].(string)
		slug := uri[strings.LastIndexAny(uri, "/#:")+1:]
		if uri != "about:blank" && slug == name { // others show a type a second time
			bySlug[slug] = example{body: e.Value, Type: uri, Title: title}
		}
	}
	if len(bySlug) < 20 {
		t.Fatalf("found only %d examples", len(bySlug))
	}
	return bySlug
}

func page(t *testing.T, slug string) string {
	t.Helper()
	text, err := fs.ReadFile(problems.FS, slug+".md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestEveryTypeHasAPageAndEveryPageAType(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(problems.FS, "*")
	if err != nil {
		t.Fatal(err)
	}
	types := documented(t)
	for _, file := range files {
		if _, ok := types[strings.TrimSuffix(file, path.Ext(file))]; !ok {
			t.Errorf("%s explains a type that the document does not have", file)
		}
	}
	for slug := range types {
		if !slices.Contains(files, slug+".md") {
			t.Errorf("%s has no page", slug)
		}
	}
}

var exampleBody = regexp.MustCompile("(?s)\n## Example\n\n```json\n(.*)\n```\n$")

func TestPagesAgreeWithTheDocument(t *testing.T) {
	t.Parallel()
	for slug, want := range documented(t) {
		text := page(t, slug)
		head := fmt.Sprintf("# %s\n\n%#q, status %v\n\n## What happened\n\n", want.Title, slug, want.body["status"])
		if !strings.HasPrefix(text, head) {
			t.Errorf("%s does not begin with\n%s", slug, head)
		}
		for _, heading := range []string{"\n## What to do\n", "\n## Can the same request succeed later?\n"} {
			if strings.Count(text, heading) != 1 {
				t.Errorf("%s needs one section%s", slug, heading)
			}
		}
		if yes := strings.Contains(text, "succeed later?\n\nYes"); yes != want.body["retryable"] {
			t.Errorf("%s: the page says yes to a retry: %t, the document: %v", slug, yes, want.body["retryable"])
		}
		match := exampleBody.FindStringSubmatch(text)
		if match == nil {
			t.Errorf("%s does not end with an example", slug)
			continue
		}
		if diff := cmp.Diff(normal(t, want.body), normal(t, json.RawMessage(match[1]))); diff != "" {
			t.Errorf("%s: the examples of document and page differ:\n%s", slug, diff)
		}
	}
}

// normal makes values of YAML and JSON comparable.
func normal(t *testing.T, value any) (plain any) {
	t.Helper()
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, &plain)
	}
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

func TestTheIndexListsEveryPage(t *testing.T) {
	t.Parallel()
	index, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	types := documented(t)
	for slug, e := range types {
		retry := map[any]string{true: "yes", false: "no"}[e.body["retryable"]]
		row := fmt.Sprintf("| [%s](%s.md) | %v | %s | %s |\n", slug, slug, e.body["status"], retry, e.Title)
		if !strings.Contains(string(index), row) {
			t.Errorf("README.md lacks the row %s", row)
		}
	}
	if got, want := strings.Count(string(index), "\n| ["), len(types); got != want {
		t.Errorf("README.md has %d rows, want %d", got, want)
	}
}
