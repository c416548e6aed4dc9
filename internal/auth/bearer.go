package auth

import (
	"net/http"
	"strings"
)

// BearerToken returns the token of a request's Authorization line (RFC 6750, 2.1). Without one, or with another scheme,
// it is [ErrNoCredentials]; a token of characters that no token has is [ErrMalformedCredentials]; two lines are
// [ErrTwoCredentials]. A token in the query or the body is not looked for: it would end up in logs.
func BearerToken(h http.Header) (string, error) {
	lines := h.Values("Authorization")
	if len(lines) == 0 {
		return "", ErrNoCredentials
	}
	if len(lines) > 1 {
		return "", ErrTwoCredentials
	}
	scheme, rest, _ := strings.Cut(strings.Trim(lines[0], " \t"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", ErrNoCredentials
	}
	token := strings.TrimLeft(rest, " ")
	if !isToken68(token) {
		return "", ErrMalformedCredentials
	}
	return token, nil
}

// isToken68 accepts RFC 9110's token68, which RFC 6750 calls b64token.
func isToken68(s string) bool {
	s = strings.TrimRight(s, "=")
	for _, c := range []byte(s) {
		if !isAlphanumeric(c) && !strings.ContainsRune("-._~+/", rune(c)) {
			return false
		}
	}
	return s != ""
}
