package idempotency

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
)

// Field is one member of the decoded request, re-encoded, so that white space and the order of members do not count.
type Field struct{ Name, Value string }

// Print identifies a request: a SHA-256 of all of it, then for each field its name and a short digest of its value, so
// that of two prints can be said in which fields they differ. The digests are there to tell, the hash to decide.
type Print []byte

const digestLen = 8

// Fingerprint digests a request: its method, the pattern of its route, and its fields. Field order counts: callers keep
// it fixed. Names are at most 255 bytes.
func Fingerprint(method, pattern string, fields ...Field) Print {
	whole := sha256.New()
	write := func(part string) {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		whole.Write(length[:])
		whole.Write([]byte(part))
	}
	write(method)
	write(pattern)
	var details []byte
	for _, f := range fields {
		write(f.Name)
		write(f.Value)
		digest := sha256.Sum256([]byte(f.Value))
		details = append(details, byte(len(f.Name)))
		details = append(details, f.Name...)
		details = append(details, digest[:digestLen]...)
	}
	return append(whole.Sum(nil), details...)
}

// Bytes returns the print as it is stored.
func (p Print) Bytes() []byte { return p }

// Differ names the fields in which two stored prints differ: those of now in their order, then those only stored has.
// It returns nothing for equal prints, or if one is not a print or only method or route differ.
func Differ(stored, now []byte) []string {
	if bytes.Equal(stored, now) {
		return nil
	}
	before, after := fieldDigests(stored), fieldDigests(now)
	var names []string
	for _, f := range after {
		if value, ok := lookUp(before, f.Name); !ok || value != f.Value {
			names = append(names, f.Name)
		}
	}
	for _, f := range before {
		if _, ok := lookUp(after, f.Name); !ok {
			names = append(names, f.Name)
		}
	}
	return names
}

func lookUp(fields []Field, name string) (string, bool) {
	for _, f := range fields {
		if f.Name == name {
			return f.Value, true
		}
	}
	return "", false
}

// fieldDigests reads the names and digests behind the hash, as far as they go.
func fieldDigests(print []byte) []Field {
	if len(print) < sha256.Size {
		return nil
	}
	var fields []Field
	for rest := print[sha256.Size:]; len(rest) > 0; {
		end := 1 + int(rest[0])
		if len(rest) < end+digestLen {
			break
		}
		fields = append(fields, Field{Name: string(rest[1:end]), Value: string(rest[end : end+digestLen])})
		rest = rest[end+digestLen:]
	}
	return fields
}
