// Package id makes and spells the identifiers of everything that has one: usr_, acct_, tr_, key_, req_.
//
// An [ID] is 128 bits, a UUIDv7 when made here, so identifiers sort by the time they were made. In PostgreSQL it is a
// uuid; on the wire it is a prefix that says what it names, an underscore, and 26 characters of base32:
//
//	usr_06f3k2v0m5u7t8l1q9s4d2r0bc
//
// The alphabet is RFC 4648's "extended hex" in lower case, 0-9 then a-v. It is the one base32 alphabet of that RFC whose
// text sorts as the bytes do, so `ORDER BY id`, a sorted log file and [ID.Compare] agree.
//
// Each ID has exactly one spelling. [Parse] refuses every other: upper case, padding, a 26th character whose unused
// bits are set. Two different strings therefore never name one thing, which matters where strings are keys.
//
// A feature gives its identifiers a type of its own (type UserID id.ID) so that the compiler keeps them apart. pgx sends
// and scans any type that is [16]byte underneath as a uuid, so neither needs methods for it.
package id

import (
	"bytes"
	"encoding/base32"
	"errors"
)

// ID is a UUIDv7, or any 128 bits. The zero value names nothing. It is comparable and safe as a map key.
type ID [16]byte

// ErrMalformed means that a string is not the canonical spelling of an identifier with the prefix asked for.
var ErrMalformed = errors.New("malformed id")

const encodedLen = 26 // 128 bits at 5 bits a character; the last character carries 3

var encoding = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

// Encode spells the ID as "prefix_" and 26 lower-case characters.
func (id ID) Encode(prefix string) string {
	out := make([]byte, 0, len(prefix)+1+encodedLen)
	out = append(append(out, prefix...), '_')
	return string(encoding.AppendEncode(out, id[:]))
}

// Parse reads what [ID.Encode] wrote for the same prefix. Anything else is [ErrMalformed].
func Parse(prefix, s string) (ID, error) {
	if len(s) != len(prefix)+1+encodedLen || s[:len(prefix)] != prefix || s[len(prefix)] != '_' {
		return ID{}, ErrMalformed
	}
	var id ID
	var buf [encodedLen]byte
	copy(buf[:], s[len(prefix)+1:])
	n, err := encoding.Decode(id[:], buf[:])
	if err != nil || n != len(id) || !canonical(id, buf) {
		return ID{}, ErrMalformed
	}
	return id, nil
}

// canonical reports whether id is spelled text. Decoding alone also accepts line breaks and set trailing bits.
func canonical(id ID, text [encodedLen]byte) bool {
	var again [encodedLen]byte
	encoding.Encode(again[:], id[:])
	return again == text
}

// Compare orders IDs as PostgreSQL orders uuid, which is the order in which they were made.
func (id ID) Compare(other ID) int {
	return bytes.Compare(id[:], other[:])
}

// IsZero reports whether id names nothing.
func (id ID) IsZero() bool {
	return id == ID{}
}
