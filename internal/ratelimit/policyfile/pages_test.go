package policyfile_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"example.com/bankapi/internal/ratelimit"
	"example.com/bankapi/internal/ratelimit/policyfile"
)

// TestEveryPolicyHasItsPage holds docs/policies to the numbers of the built-in file.
func TestEveryPolicyHasItsPage(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("..", "..", "..", "docs", "policies")
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
	index := read("README.md")
	policies := reflect.ValueOf(policyfile.Default().Policies)
	for i := range policies.NumField() {
		p := policies.Field(i).Interface().(*ratelimit.Policy)
		page := read(p.Name + ".md")
		algorithm := strings.ReplaceAll(p.Limit.Algorithm.String(), "-", " ")
		if title := strings.ToUpper(algorithm[:1]) + algorithm[1:] + ", " + thousands(p.Limit.Capacity()) + " "; !strings.Contains(page, title) {
			t.Errorf("%s.md does not say %q", p.Name, title)
		}
		away := "share"
		if p.OnFailure == ratelimit.FailClosed {
			away = "503"
		}
		if _, after, found := strings.Cut(page, "**Store away: "); !found || !strings.Contains(after[:min(len(after), 30)], away) {
			t.Errorf("%s.md does not say %q for the store being away", p.Name, away)
		}
		if row := "| [" + p.Name + "](" + p.Name + ".md) |"; !strings.Contains(index, row) {
			t.Errorf("README.md has no row %s", row)
		}
	}
	if pages, _ := filepath.Glob(filepath.Join(dir, "*.md")); len(pages) != policies.NumField()+1 {
		t.Errorf("%d pages, want one for each of %d policies and the index", len(pages), policies.NumField())
	}
}

// thousands writes 12,000.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
