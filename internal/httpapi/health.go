package httpapi

import (
	"fmt"
	"net/http"
)

type healthJSON struct {
	Status string `json:"status"`
}

// healthz says that the process answers. It asks nothing else, so a lost database does not get the process killed.
func (a *api) healthz(w http.ResponseWriter, _ *http.Request) error {
	return respond(w, http.StatusOK, healthJSON{Status: "ok"})
}

// readyz says that the process can serve: the database answers and is migrated.
func (a *api) readyz(w http.ResponseWriter, r *http.Request) error {
	if err := a.Ready(r.Context()); err != nil {
		return fmt.Errorf("%w: %w", errNotReady, err)
	}
	return respond(w, http.StatusOK, healthJSON{Status: "ok"})
}
