package auth

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// RFC 5321, 4.5.3.1, in bytes. A path is 256 with its angle brackets.
const (
	maxEmail = 254
	maxLocal = 64
	maxLabel = 63
)

// NormalizeEmail returns the one spelling of an address under which users are stored and log-ins are counted: NFKC,
// without surrounding space, in lower case. It is idempotent. What cannot be an address is [ErrInvalidEmail].
func NormalizeEmail(s string) (string, error) {
	if len(s) > 4*maxEmail || !utf8.ValidString(s) { // normalising can shorten a text, but not by more
		return "", ErrInvalidEmail
	}
	s = strings.TrimSpace(norm.NFKC.String(s))
	s = norm.NFKC.String(strings.ToLower(s)) // lower case may undo the composition
	if !isEmail(s) {
		return "", ErrInvalidEmail
	}
	return s, nil
}

// isEmail accepts what mail systems deliver today: one @, a dot-atom, a domain name of two labels or more, either in any
// script. Quoted local parts and address literals are refused.
func isEmail(s string) bool {
	local, domain, ok := strings.Cut(s, "@")
	if !ok || len(s) > maxEmail || len(local) > maxLocal {
		return false
	}
	for atom := range strings.SplitSeq(local, ".") {
		if atom == "" || strings.ContainsFunc(atom, notInAtom) {
			return false
		}
	}
	labels := strings.Split(domain, ".")
	for _, label := range labels {
		if !isLabel(label) {
			return false
		}
	}
	return len(labels) >= 2
}

func notInAtom(r rune) bool {
	return r == ' ' || !unicode.IsPrint(r) || strings.ContainsRune(`"(),:;<>@[\]`, r)
}

func isLabel(s string) bool {
	return s != "" && len(s) <= maxLabel && s[0] != '-' && s[len(s)-1] != '-' && !strings.ContainsFunc(s, notInLabel)
}

func notInLabel(r rune) bool {
	return r != '-' && !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r)
}
