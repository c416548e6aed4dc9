package httpapi

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Page sizes of lists.
const (
	defaultLimit = 20
	maxLimit     = 100
)

// checkQuery refuses query parameters that are unknown, repeated or badly encoded, all of them at once.
func checkQuery(r *http.Request, known []string) error {
	if r.URL.RawQuery == "" {
		return nil
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return invalid(Fault{Detail: "The query string is badly encoded."})
	}
	var faults []Fault
	for name, values := range query {
		switch {
		case !slices.Contains(known, name):
			faults = append(faults, Fault{Parameter: shorten(name), Detail: "There is no such query parameter here."})
		case len(values) > 1:
			faults = append(faults, Fault{Parameter: name, Detail: "The query parameter is there more than once."})
		}
	}
	if len(faults) == 0 {
		return nil
	}
	slices.SortFunc(faults, func(a, b Fault) int { return strings.Compare(a.Parameter, b.Parameter) })
	return invalid(faults[:min(len(faults), maxFaults)]...)
}

// limitOf reads ?limit=, 1 to 100, 20 if absent.
func limitOf(query url.Values) (int, error) {
	if !query.Has("limit") {
		return defaultLimit, nil
	}
	text := query.Get("limit")
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxLimit || strconv.Itoa(n) != text {
		return 0, invalid(Fault{Parameter: "limit", Detail: "Must be a whole number from 1 to 100."})
	}
	return n, nil
}
