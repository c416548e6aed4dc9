package tests

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestProofNamesTestsThatExist reads docs/proof.md: every case and every figure has a row, and every test that a row
// names exists.
func TestProofNamesTestsThatExist(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/proof.md")
	if err != nil {
		t.Fatal(err)
	}
	suite := texts(t, "internal/ratelimit/storetest", false)
	declared := map[string]map[string]bool{}
	proofs := map[string]int{}
	for line := range strings.Lines(string(page)) {
		row, isRow := strings.CutPrefix(line, "| ")
		if !isRow {
			continue
		}
		row, _, _ = strings.Cut(row, " ")
		for _, m := range proofName.FindAllStringSubmatch(line, -1) {
			proofs[row]++
			dir, name := m[1], m[2]
			if dir == "every store:" {
				if !suite[name] {
					t.Errorf("%s: the store suite has no case %s", row, name)
				}
				continue
			}
			if declared[dir] == nil {
				declared[dir] = texts(t, dir, true)
			}
			if !declared[dir][name] {
				t.Errorf("%s: %s has no %s", row, dir, name)
			}
		}
	}
	for kind, most := range map[string]int{"L": 21, "T": 15, "G": 15} {
		for n := range most {
			if row := fmt.Sprint(kind, n+1); proofs[row] == 0 {
				t.Errorf("%s has no proof", row)
			}
		}
	}
}

// proofName is a test as docs/proof.md names it.
var proofName = regexp.MustCompile("`(every store:|[a-z/]+) ((?:Test|Fuzz|Example)?[A-Z]\\w+)`")

// texts are the functions that a package's tests declare, or the words that its files quote.
func texts(t *testing.T, dir string, functions bool) map[string]bool {
	t.Helper()
	pattern := "*.go"
	if functions {
		pattern = "*_test.go"
	}
	files, _ := filepath.Glob(filepath.Join("..", dir, pattern))
	found := map[string]bool{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				found[n.Name.Name] = found[n.Name.Name] || functions && n.Recv == nil
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); err == nil && !functions {
					found[text] = true
				}
			}
			return true
		})
	}
	return found
}
