package openapitest

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
)

// Main runs a suite that undertakes to show every answer of the document, and then names the (operation, status) pairs it
// has not shown, such as "GET /me 200". It returns the exit code for TestMain. Exempt gives the reason for each pair that
// cannot be shown; a pair that was shown all the same, or that the document does not have, is a fault too.
//
// A run that chooses tests (-run, -skip, -short, -list) or fails is not held to it.
func Main(m *testing.M, exempt map[string]string) int {
	code := m.Run()
	if code != 0 || partial() {
		return code
	}
	return report(os.Stderr, contract(), seen.pairs(), exempt)
}

// partial reports whether this run leaves tests out.
func partial() bool {
	for _, name := range []string{"test.run", "test.skip", "test.list", "test.fuzz", "test.bench"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" {
			return true
		}
	}
	return testing.Short()
}

func report(w io.Writer, doc *document, shown map[string]bool, exempt map[string]string) int {
	faults := doc.coverage(shown, exempt)
	for _, fault := range faults {
		_, _ = fmt.Fprintln(w, "openapitest:", fault)
	}
	return min(len(faults), 1)
}

// coverage compares what was shown with what the document has.
func (d *document) coverage(shown map[string]bool, exempt map[string]string) []string {
	var faults []string
	documented := map[string]bool{}
	for _, pair := range d.pairs() {
		documented[pair] = true
		reason, excused := exempt[pair]
		switch {
		case !shown[pair] && !excused:
			faults = append(faults, pair+" is in the document, but no test has seen it")
		case shown[pair] && excused:
			faults = append(faults, pair+" is exempt ("+reason+"), but a test has seen it")
		}
	}
	for _, pair := range slices.Sorted(maps.Keys(exempt)) {
		if !documented[pair] {
			faults = append(faults, pair+" is exempt, but the document does not have it")
		}
	}
	return faults
}

// pairs lists every operation with every status.
func (d *document) pairs() []string {
	var all []string
	for _, o := range d.operations {
		for _, status := range d.statuses(o) {
			all = append(all, o.String()+" "+status)
		}
	}
	return all
}

// seen is what the checks of this process have been shown. A process is one suite, so it is the one global there is.
var seen record

type record struct {
	mu  sync.Mutex
	set map[string]bool
}

func (r *record) add(doc *document, req *http.Request, status int) {
	o, _, ok := doc.find(req.Method, req.URL)
	if !ok || req.Method == http.MethodHead {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.set == nil {
		r.set = map[string]bool{}
	}
	r.set[o.String()+" "+strconv.Itoa(status)] = true
}

func (r *record) pairs() map[string]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.set)
}
