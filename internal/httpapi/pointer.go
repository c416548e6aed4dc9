package httpapi

import (
	"fmt"
	"strings"
)

var pointerEscape = strings.NewReplacer("~", "~0", "/", "~1")

// pointer is a JSON pointer as a URI fragment, "" for the whole document.
func pointer(path ...string) string {
	if len(path) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteByte('#')
	for _, name := range path {
		b.WriteByte('/')
		b.WriteString(fragment(pointerEscape.Replace(shorten(name))))
	}
	return b.String()
}

const fragmentSafe = "-._~!$&'()*+,;=:@/?"

// fragment percent-encodes what a URI fragment cannot hold.
func fragment(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte(fragmentSafe, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// maxShown bounds how much of a client's own names an answer repeats.
const maxShown = 64

func shorten(name string) string {
	if len(name) <= maxShown {
		return name
	}
	return strings.ToValidUTF8(name[:maxShown], "")
}
