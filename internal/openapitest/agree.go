package openapitest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
)

// MatchesRoutes reports each route of the router that is no operation of the document, and the other way round.
func MatchesRoutes(t testing.TB, routes chi.Routes) {
	t.Helper()
	routed := map[string]bool{}
	err := chi.Walk(routes, func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		routed[method+" "+route] = true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, o := range contract().operations {
		documented[o.String()] = true
	}
	for _, fault := range differences("the router", routed, "the document", documented) {
		t.Error(fault)
	}
}

// ProblemType is what never varies about a kind of error.
type ProblemType struct {
	URI, Title string
	Status     int
	Retryable  bool
}

func (p ProblemType) String() string {
	return fmt.Sprintf("%s (%d %q, retryable: %t)", p.URI, p.Status, p.Title, p.Retryable)
}

// ProblemTypes reports each type of error that the server's table and the document do not both have, with the same title,
// status and promise about retries.
func ProblemTypes(t testing.TB, table []ProblemType) {
	t.Helper()
	inTable := map[string]bool{}
	for _, p := range table {
		inTable[p.String()] = true
	}
	documented := map[string]bool{}
	for _, p := range contract().problems() {
		documented[p.String()] = true
	}
	for _, fault := range differences("the table", inTable, "the document", documented) {
		t.Error(fault)
	}
}

// problems reads the types of error out of the document: the schemas whose member "type" is a constant.
func (d *document) problems() map[string]ProblemType {
	all := map[string]ProblemType{}
	for _, name := range d.names("/components/schemas") {
		constant := func(member string) any {
			return d.members(join("/components/schemas", name, "properties", member))["const"]
		}
		uri, _ := constant("type").(string)
		status, _ := constant("status").(json.Number)
		if uri == "" || status == "" {
			continue
		}
		code, _ := status.Int64()
		title, _ := constant("title").(string)
		all[name] = ProblemType{URI: uri, Title: title, Status: int(code), Retryable: constant("retryable") == true}
	}
	return all
}

func differences(one string, a map[string]bool, other string, b map[string]bool) []string {
	var faults []string
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if !b[name] {
			faults = append(faults, strings.Join([]string{name, "is in", one, "but not in", other}, " "))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b)) {
		if !a[name] {
			faults = append(faults, strings.Join([]string{name, "is in", other, "but not in", one}, " "))
		}
	}
	return faults
}
