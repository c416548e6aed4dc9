package tests

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "example.com/bankapi"

// imports is the table of who may know whom inside the module. A package that is not listed fails the test: add its
// row on purpose. "std" means the standard library and nothing else; third-party imports are listed by prefix.
var imports = map[string][]string{
	"api":                           {"github.com/swaggest/swgui"},
	"client":                        {},
	"cmd/bankapi":                   {"*"},
	"docs/problems":                 {},
	"internal/auth":                 {"internal/id", "internal/postgres", "github.com/jackc/pgx/v5", "github.com/maypok86/otter/v2", "golang.org/x"},
	"internal/clientip":             {},
	"internal/dbtest":               {"*"},
	"internal/httpapi":              {"*"},
	"internal/id":                   {},
	"internal/idempotency":          {"internal/id", "internal/postgres", "github.com/jackc/pgx/v5"},
	"internal/lab":                  {"internal/ratelimit"},
	"internal/load":                 {"internal/auth", "internal/transfers", "github.com/jackc/pgx/v5", "golang.org/x"}, // makes users and accounts to pay with
	"internal/logtest":              {},
	"internal/mail":                 {"github.com/wneessen/go-mail"},
	"internal/openapitest":          {"*"},
	"internal/postgres":             {"migrations", "github.com/jackc/pgx/v5", "github.com/golang-migrate/migrate/v4"},
	"internal/postgres/embedded":    {"github.com/fergusstrange/embedded-postgres", "github.com/jackc/pgx/v5", "golang.org/x/sys"},
	"internal/ratelimit":            {},
	"internal/ratelimit/breaker":    {"internal/ratelimit", "github.com/sony/gobreaker/v2"},
	"internal/ratelimit/pgstore":    {"internal/ratelimit", "github.com/jackc/pgx/v5"},
	"internal/ratelimit/policyfile": {"internal/ratelimit", "github.com/goccy/go-yaml"},
	"internal/ratelimit/redisstore": {"internal/ratelimit", "github.com/redis/go-redis/v9"},
	"internal/ratelimit/storetest":  {"internal/ratelimit", "github.com/google/go-cmp"},
	"internal/rates":                {"github.com/jackc/pgx/v5"},
	"internal/telemetry":            {"github.com/prometheus/client_golang", "github.com/jackc/pgx/v5"},
	"internal/transfers":            {"internal/id", "internal/postgres", "github.com/jackc/pgx/v5"},
	"internal/webhooks":             {"internal/id", "internal/postgres", "github.com/jackc/pgx/v5"},
	"migrations":                    {},
	"tests":                         {"*"},
}

// pureFiles are the algorithms: values and a time in, values out. They are the specification of every store.
var pureFiles = []string{"tokenbucket.go", "slidinglog.go", "fixedwindow.go", "slidingcounter.go", "leakybucket.go"}

// pureImports is all that a pure file may use. None of it does I/O; time is there for its types.
var pureImports = []string{"cmp", "errors", "fmt", "math", "math/bits", "slices", "time"}

// features have errors that a client can meet; each needs its row in the table of problems.
var features = []string{"auth", "clientip", "idempotency", "ratelimit", "rates", "transfers", "webhooks"}

// pkg is a package's files that are not tests, by name.
type pkg struct {
	files map[string]*ast.File
}

// load parses every non-test Go file of the module, package by package.
func load(t *testing.T) map[string]*pkg {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	pkgs := map[string]*pkg{}
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, name)
		if entry.IsDir() {
			if rel != "." && (strings.HasPrefix(entry.Name(), ".") || nested(name)) || entry.Name() == "testdata" {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		dir := path.Dir(filepath.ToSlash(rel))
		if pkgs[dir] == nil {
			pkgs[dir] = &pkg{files: map[string]*ast.File{}}
		}
		pkgs[dir].files[entry.Name()] = file
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(pkgs) < 10 {
		t.Fatalf("found only %d packages below %s: the walk is broken", len(pkgs), root)
	}
	return pkgs
}

// nested reports whether dir is a module of its own (bench, tools): its imports are its own business.
func nested(dir string) bool {
	found, _ := filepath.Glob(filepath.Join(dir, "go.mod"))
	return len(found) > 0
}

func TestImportsFollowTheTable(t *testing.T) {
	t.Parallel()
	pkgs := load(t)
	for _, dir := range slices.Sorted(maps.Keys(pkgs)) {
		allowed, listed := imports[dir]
		if !listed {
			t.Errorf("%s is not in the import table: add its row on purpose", dir)
			continue
		}
		for name, file := range pkgs[dir].files {
			for _, spec := range file.Imports {
				if got, _ := strconv.Unquote(spec.Path.Value); !mayImport(allowed, got) {
					t.Errorf("%s/%s imports %s, which its row in the import table does not allow", dir, name, got)
				}
			}
		}
	}
}

// mayImport reports whether a row allows one import path. The standard library is always allowed: its first element
// has no dot. A row "*" allows all.
func mayImport(allowed []string, imported string) bool {
	inside, ours := strings.CutPrefix(imported, module+"/")
	first, _, _ := strings.Cut(imported, "/")
	if !ours && !strings.Contains(first, ".") {
		return true
	}
	return slices.ContainsFunc(allowed, func(row string) bool {
		if ours {
			return row == "*" || row == inside
		}
		return row == "*" || imported == row || strings.HasPrefix(imported, row+"/")
	})
}

func TestTestHelpersStayOutOfTheProduct(t *testing.T) {
	t.Parallel()
	for dir, p := range load(t) {
		if testOnly(dir) {
			continue
		}
		for name, file := range p.files {
			for _, spec := range file.Imports {
				got, _ := strconv.Unquote(spec.Path.Value)
				if got == "testing" || testOnly(strings.TrimPrefix(got, module+"/")) || strings.Contains(got, "testcontainers") {
					t.Errorf("%s/%s imports %s, which is for tests only", dir, name, got)
				}
			}
		}
	}
}

func testOnly(dir string) bool {
	return dir == "tests" || strings.HasSuffix(dir, "test") && strings.HasPrefix(dir, "internal/")
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	t.Parallel()
	for dir, p := range load(t) {
		documented := false
		for _, file := range p.files {
			documented = documented || file.Doc != nil && len(file.Doc.Text()) > 60
		}
		if !documented {
			t.Errorf("%s has no package comment worth the name", dir)
		}
	}
}

func TestAlgorithmsArePure(t *testing.T) {
	t.Parallel()
	files := load(t)["internal/ratelimit"].files
	for _, name := range pureFiles {
		file := files[name]
		if file == nil {
			t.Errorf("internal/ratelimit/%s is missing", name)
			continue
		}
		for _, spec := range file.Imports {
			if got, _ := strconv.Unquote(spec.Path.Value); !slices.Contains(pureImports, got) {
				t.Errorf("%s imports %s: an algorithm takes values and a time and returns values", name, got)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool { return checkPure(t, name, n) })
	}
}

// checkPure refuses the clock and floating point: no float decides anything.
func checkPure(t *testing.T, name string, n ast.Node) bool {
	t.Helper()
	switch n := n.(type) {
	case *ast.SelectorExpr:
		if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains([]string{"Now", "Since", "Until", "Sleep"}, n.Sel.Name) {
			t.Errorf("%s uses time.%s: now is a parameter", name, n.Sel.Name)
		}
	case *ast.Ident:
		if n.Name == "float64" || n.Name == "float32" {
			t.Errorf("%s uses %s: limits are integers", name, n.Name)
		}
	}
	return true
}

func TestNobodyBelowCmdReadsTheClock(t *testing.T) {
	t.Parallel()
	for dir, p := range load(t) {
		if strings.HasPrefix(dir, "cmd/") || testOnly(dir) || slices.Contains(readsTheClock, dir) {
			continue
		}
		for name, file := range p.files {
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				sel, ok := call.Fun.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if x, ok := sel.X.(*ast.Ident); ok && x.Name == "time" && sel.Sel.Name == "Now" {
					t.Errorf("%s/%s calls time.Now: take now as a parameter or from a field", dir, name)
				}
				return true
			})
		}
	}
}

// readsTheClock names the packages that may call time.Now, each for its reason.
var readsTheClock = []string{
	"client",                     // a library for others: the clock is its default
	"internal/id",                // a UUIDv7 carries the moment it was made
	"internal/load",              // measures how long answers take
	"internal/postgres",          // waits for a server, and logs how long
	"internal/postgres/embedded", // waits for a process
}

func TestEveryErrorHasAProblem(t *testing.T) {
	t.Parallel()
	pkgs := load(t)
	named := map[string]bool{}
	for _, file := range pkgs["internal/httpapi"].files {
		ast.Inspect(file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := sel.X.(*ast.Ident); ok {
					named[x.Name+"."+sel.Sel.Name] = true
				}
			}
			return true
		})
	}
	for _, feature := range features {
		for _, name := range exportedErrors(pkgs["internal/"+feature]) {
			if !named[feature+"."+name] {
				t.Errorf("%s.%s has no row in internal/httpapi/problem.go", feature, name)
			}
		}
	}
}

// exportedErrors lists the package's exported ErrX variables and exported XError types.
func exportedErrors(p *pkg) []string {
	var found []string
	for _, file := range p.files {
		for name, obj := range topLevel(file) {
			isVar := obj == token.VAR && strings.HasPrefix(name, "Err")
			isType := obj == token.TYPE && strings.HasSuffix(name, "Error")
			if ast.IsExported(name) && (isVar || isType) {
				found = append(found, name)
			}
		}
	}
	slices.Sort(found)
	return found
}

// topLevel maps the names a file declares with var or type to which of the two it was.
func topLevel(file *ast.File) map[string]token.Token {
	names := map[string]token.Token{}
	for _, decl := range file.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range gen.Specs {
			switch spec := spec.(type) {
			case *ast.ValueSpec:
				for _, ident := range spec.Names {
					names[ident.Name] = gen.Tok
				}
			case *ast.TypeSpec:
				names[spec.Name.Name] = gen.Tok
			}
		}
	}
	return names
}
