// Package idempotency knows the life of an idempotency key: how a client spells it, what a request with it looked like,
// and what has become of it.
//
//	header lines --ParseKey--> Key         the name of one intent of one user, in one scope (method and route pattern)
//	request -----Fingerprint--> Print      what was asked; the same key with another print is refused, Differ says where
//	Store.Find ------> Record              unknown | done; the process that runs an order knows "in progress"
//	Store.Purge                            forgets keys by age
//
// The row of a key is not written here. It commits in the transaction that moves the money, so the ledger writes it
// (table idempotency_keys) and this package only reads and purges. Open key.go, then fingerprint.go and store.go.
package idempotency

import (
	"errors"
	"strings"
)

// Key is a parsed idempotency key: 1 to 255 characters of %x21-7E without " \ , ;
type Key string

const maxKey = 255

// Errors of the header field.
var (
	ErrKeyMissing = errors.New("no idempotency key")
	ErrKeyInvalid = errors.New("malformed idempotency key")
)

// ParseKey reads the lines of the Idempotency-Key field. The draft's quoted Structured Field String and the raw form that
// most clients send name the same key. A list, parameters, two lines, inner spaces and non-ASCII are ErrKeyInvalid; so is a
// line that is there but empty.
func ParseKey(lines []string) (Key, error) {
	if len(lines) == 0 {
		return "", ErrKeyMissing
	}
	if len(lines) > 1 {
		return "", ErrKeyInvalid
	}
	raw := strings.Trim(lines[0], " \t")
	if inner, quoted := strings.CutPrefix(raw, `"`); quoted {
		raw = strings.TrimSuffix(inner, `"`)
		if len(raw) == len(inner) {
			return "", ErrKeyInvalid
		}
	}
	if len(raw) < 1 || len(raw) > maxKey || strings.ContainsFunc(raw, outsideKey) {
		return "", ErrKeyInvalid
	}
	return Key(raw), nil
}

func outsideKey(r rune) bool {
	return r < 0x21 || r > 0x7e || strings.ContainsRune(`"\,;`, r)
}
