package httpapi

import (
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"
)

func (a *api) notFound(http.ResponseWriter, *http.Request) error {
	return errNotFound
}

// methods are those that a route may have, in the order Allow lists them.
var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// methodNotAllowed answers 405 with the Allow header that RFC 9110 demands and chi leaves to us.
func (a *api) methodNotAllowed(w http.ResponseWriter, r *http.Request) error {
	path := r.URL.RawPath
	if path == "" {
		path = r.URL.Path
	}
	routes := chi.RouteContext(r.Context()).Routes
	var allowed []string
	for _, method := range methods {
		routed := method
		if method == http.MethodHead {
			routed = http.MethodGet
		}
		if routes.Match(chi.NewRouteContext(), routed, path) {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) == 0 { // chi answers 405 to methods it has never heard of, wherever they are sent
		return errNotFound
	}
	setHeader(w.Header(), "Allow", strings.Join(allowed, ", "))
	return errMethodNotAllowed
}
