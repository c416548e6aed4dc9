package httpapi

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"github.com/go-chi/chi/v5"

	"example.com/bankapi/internal/auth"
)

// A handler decodes, calls and encodes. It writes its success itself and returns everything else.
type handler func(w http.ResponseWriter, r *http.Request) error

// A memberHandler is told who calls: a caller whose token has been verified.
type memberHandler func(w http.ResponseWriter, r *http.Request, caller auth.Principal) error

// page makes a handler from h.
func (a *api) page(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			a.fail(w, r, err)
		}
	}
}

// public is page for the API: query parameters other than those named are refused.
func (a *api) public(h handler, parameters ...string) http.HandlerFunc {
	return a.page(func(w http.ResponseWriter, r *http.Request) error {
		if err := checkQuery(r, parameters); err != nil {
			return err
		}
		return h(w, r)
	})
}

// member is public for routes below authenticate.
func (a *api) member(h memberHandler, parameters ...string) http.HandlerFunc {
	return a.public(func(w http.ResponseWriter, r *http.Request) error {
		return h(w, r, exchangeOf(r).principal)
	}, parameters...)
}

// fail answers with the error's problem. What a client must not see of a 5xx goes to the log. The refusal of a limit is
// there already as refused_by, and a store that does not answer is told once for all by [LimitObserver].
func (a *api) fail(w http.ResponseWriter, r *http.Request, err error) {
	x := exchangeOf(r)
	problem := problemOf(err)
	if problem.Type.Status >= http.StatusInternalServerError && x.failure == nil && x.refusedBy == nil {
		x.failure = err
	}
	problem.write(w, instanceOf(r.URL), x.id)
}

// respond sends v as JSON.
func respond(w http.ResponseWriter, status int, v any) error {
	body, err := encode(v)
	if err != nil {
		return err
	}
	send(w, status, "application/json", body)
	return nil
}

// created is respond for something new that has an address.
func created(w http.ResponseWriter, location string, v any) error {
	setHeader(w.Header(), "Location", location)
	return respond(w, http.StatusCreated, v)
}

func send(w http.ResponseWriter, status int, contentType string, body []byte) {
	setHeader(w.Header(), "Content-Type", contentType)
	setHeader(w.Header(), "Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// encode is json.Marshal without HTML escapes, so that a memo of "R&D" stays readable, and with a line end, so that a
// terminal does too.
func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// pathParam is a parameter of the route as the client meant it. chi matches the path as it was escaped if that matters.
func pathParam(r *http.Request, name string) string {
	text := chi.URLParam(r, name)
	if r.URL.RawPath == "" {
		return text
	}
	plain, err := url.PathUnescape(text)
	if err != nil {
		return text
	}
	return plain
}
