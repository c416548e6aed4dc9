package openapitest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Condition is a circumstance under which the document excuses a missing header (x-required-unless).
type Condition string

// LimitsUnknown says that the store that counts cannot be asked, and the policies that fail open send no numbers.
const LimitsUnknown Condition = "limits-unknown"

// Check reports each way in which an answer differs from the document. It reads the answer's body and puts it back. The
// request's own body is compared only if the request can repeat it (GetBody), as [Client] and [Serve] see to.
func Check(t testing.TB, req *http.Request, res *http.Response, when ...Condition) {
	t.Helper()
	body, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	res.Body = io.NopCloser(bytes.NewReader(body))
	if err != nil {
		t.Errorf("%s %s: read the answer: %v", req.Method, req.URL.Path, err)
		return
	}
	doc := contract()
	for _, fault := range doc.check(req, answer{res.StatusCode, res.Header, body}, when) {
		t.Errorf("%s %s -> %d: %s\n%s", req.Method, req.URL.Path, res.StatusCode, fault, body)
	}
	seen.add(doc, req, res.StatusCode)
}

// answer is what the document can judge of a response.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (d *document) check(req *http.Request, a answer, when []Condition) []string {
	o, parameters, ok := d.find(req.Method, req.URL)
	if !ok {
		return d.checkOutside(req, a, when)
	}
	listed := d.statuses(o)
	if !slices.Contains(listed, strconv.Itoa(a.status)) {
		return []string{fmt.Sprintf("the status is not one of %s's: %s", o, strings.Join(listed, " "))}
	}
	faults := d.checkResponse(join(o.pointer, "responses", strconv.Itoa(a.status)), req, a, when)
	if a.status < 300 {
		faults = append(faults, d.checkRequest(o, parameters, req)...)
	}
	return faults
}

// outside are the answers to requests that are no operation.
var outside = map[int]string{
	http.StatusNoContent:           "Preflight",
	http.StatusNotFound:            "RouteNotFound",
	http.StatusMethodNotAllowed:    "MethodNotAllowed",
	http.StatusTooManyRequests:     "TooManyRequests",
	http.StatusInternalServerError: "InternalError",
	http.StatusServiceUnavailable:  "Unavailable",
}

func (d *document) checkOutside(req *http.Request, a answer, when []Condition) []string {
	name, ok := outside[a.status]
	if !ok || a.status == http.StatusNoContent && req.Method != http.MethodOptions {
		return []string{"the request is no operation of the document, and the status none for that"}
	}
	faults := d.checkResponse(join("/components/responses", name), req, a, when)
	allowed := d.allowed(req)
	switch {
	case a.status == http.StatusNotFound && allowed != "":
		faults = append(faults, "the address has operations ("+allowed+"), so this should be a 405")
	case a.status == http.StatusMethodNotAllowed && a.header.Get("Allow") != allowed:
		faults = append(faults, fmt.Sprintf("Allow is %q, want %q", a.header.Get("Allow"), allowed))
	}
	return faults
}

// allowed is the right Allow header for a request's address, "" where there is nothing.
func (d *document) allowed(req *http.Request) string {
	var allowed []string
	for _, method := range methods {
		if _, _, ok := d.find(method, req.URL); ok {
			allowed = append(allowed, method)
		}
	}
	return strings.Join(allowed, ", ")
}

func (d *document) checkResponse(response string, req *http.Request, a answer, when []Condition) []string {
	response = d.follow(response)
	return append(d.checkHeaders(response, a.header, when), d.checkBody(join(response, "content"), req.Method, a)...)
}
