package openapitest

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// operation is one method of one path of the document.
type operation struct {
	method, path string // GET, /accounts/{id}
	pointer      string
}

func (o operation) String() string { return o.method + " " + o.path }

var methods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions, http.MethodTrace,
}

func (d *document) listOperations() []operation {
	var all []operation
	for _, path := range d.names("/paths") {
		for _, method := range methods {
			pointer := join("/paths", path, strings.ToLower(method))
			if d.at(pointer) != nil {
				all = append(all, operation{method: method, path: path, pointer: pointer})
			}
		}
	}
	return all
}

// find returns the operation that a request is for and its path parameters. HEAD is answered as GET. Of two paths that
// match, the one with fewer parameters is meant.
func (d *document) find(method string, u *url.URL) (found operation, parameters map[string]string, ok bool) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	for _, candidate := range d.operations {
		if candidate.method != method {
			continue
		}
		if matched := match(candidate.path, u.EscapedPath()); matched != nil && (!ok || len(matched) < len(parameters)) {
			found, parameters, ok = candidate, matched, true
		}
	}
	return found, parameters, ok
}

// match returns the parameters of a path that fits the template, nil if it does not.
func match(template, path string) map[string]string {
	want, got := strings.Split(template, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return nil
	}
	parameters := map[string]string{}
	for i, segment := range want {
		text, err := url.PathUnescape(got[i])
		if err != nil {
			return nil
		}
		name, isParameter := strings.CutPrefix(segment, "{")
		switch {
		case isParameter && text != "":
			parameters[strings.TrimSuffix(name, "}")] = text
		case segment != text:
			return nil
		}
	}
	return parameters
}

// statuses are those that the document lists for an operation.
func (d *document) statuses(o operation) []string {
	return d.names(join(o.pointer, "responses"))
}

// parameters returns pointers to an operation's parameters: those of its path, then its own.
func (d *document) parameters(o operation) []string {
	var pointers []string
	for _, owner := range []string{join("/paths", o.path), o.pointer} {
		list, _ := d.at(join(owner, "parameters")).([]any)
		for i := range list {
			pointers = append(pointers, d.follow(join(owner, "parameters", strconv.Itoa(i))))
		}
	}
	return pointers
}

// responses returns pointers to every answer of the document, also those to no operation.
func (d *document) responses() []string {
	var pointers []string
	for _, o := range d.operations {
		for _, status := range d.statuses(o) {
			pointers = append(pointers, d.follow(join(o.pointer, "responses", status)))
		}
	}
	for _, name := range d.names("/components/responses") {
		pointers = append(pointers, join("/components/responses", name))
	}
	return pointers
}

// listHeaders collects the header names of every answer.
func (d *document) listHeaders() map[string]bool {
	all := map[string]bool{}
	for _, response := range d.responses() {
		for _, name := range d.names(join(response, "headers")) {
			all[http.CanonicalHeaderKey(name)] = true
		}
	}
	return all
}
