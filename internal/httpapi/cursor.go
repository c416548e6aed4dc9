package httpapi

import (
	"crypto/sha256"
	"encoding/base64"
	"net/url"
)

// A cursor is opaque to clients: base64url of a digest of what it pages through, then the position to go on from.
// The digest binds it to its list: a cursor of one account's statement is refused by another's.
const (
	cursorDigest = 8
	cursorSize   = cursorDigest + 16
)

var cursorEncoding = base64.RawURLEncoding.Strict()

// encodeCursor spells a position in a list. scope names the list and whoever's it is.
func encodeCursor(scope string, position [16]byte) string {
	digest := sha256.Sum256([]byte(scope))
	return cursorEncoding.EncodeToString(append(digest[:cursorDigest:cursorDigest], position[:]...))
}

// cursorOf reads ?cursor=. Without one it is the zero position: the list's start.
func cursorOf(query url.Values, scope string) (position [16]byte, err error) {
	if !query.Has("cursor") {
		return position, nil
	}
	text := query.Get("cursor")
	raw, err := cursorEncoding.DecodeString(text)
	if err != nil || len(raw) != cursorSize || encodeCursor(scope, [16]byte(raw[cursorDigest:])) != text {
		return position, invalid(Fault{Parameter: "cursor", Detail: "Must be the next_cursor of a page of this very list."})
	}
	return [16]byte(raw[cursorDigest:]), nil
}
