package httpapi

import (
	"errors"
	"io"
	"net"
	"strings"

	"example.com/bankapi/internal/postgres"
)

// unavailable reports whether an error says that the database is away, or lost a race too often: 503 and not 500,
// because the same request can succeed a moment later.
func unavailable(err error) bool {
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || postgres.Retryable(err) {
		return true
	}
	state, ok := errors.AsType[sqlError](err)
	return ok && awayState(state.SQLState())
}

// sqlError is what PostgreSQL said, whichever driver brings it.
type sqlError interface {
	error
	SQLState() string
}

// readOnly is what a server says that has become a standby.
const readOnly = "25006"

// awayState reports whether a SQLSTATE means that the server is starting, stopping, unreachable, full or a standby.
func awayState(state string) bool {
	return strings.HasPrefix(state, "08") || strings.HasPrefix(state, "53") || strings.HasPrefix(state, "57P") || state == readOnly
}
