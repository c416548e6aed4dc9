package httpapi

import "errors"

// The errors that httpapi itself finds.
var (
	errNotFound         = errors.New("not found")
	errMethodNotAllowed = errors.New("method not allowed")
	errMisdirected      = errors.New("a host that is not ours")
	errBodyTooLarge     = errors.New("body too large")
	errNotJSON          = errors.New("body is not announced as JSON")
	errLimitsUnknown    = errors.New("a limiter's store did not answer")
	errUnavailable      = errors.New("database unavailable")
	errNotReady         = errors.New("not ready")
)

func invalid(faults ...Fault) error {
	return &Problem{Type: validation, Detail: "See errors for each fault.", Faults: faults}
}

func malformed(pointer, detail string) error {
	return &Problem{Type: malformedBody, Detail: detail, Faults: []Fault{{Detail: detail, Pointer: pointer}}}
}
