package redisstore

import (
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"

	"example.com/bankapi/internal/ratelimit"
)

// maxPart is the longest part of a key that is written out; longer ones are hashed.
const maxPart = 64

// key names the place of one policy and key: prefix, algorithm, owner as the hash tag, policy, part. Every part from
// outside is length-prefixed, so no two claims can meet by choosing their parts well, and nothing inside an owner
// can move the hash tag. The algorithm is part of the name because it fixes the type of the value: a policy that
// changes its algorithm starts afresh instead of failing on the old value.
func key(prefix string, p *ratelimit.Policy, k ratelimit.Key) string {
	var b strings.Builder
	b.Grow(len(prefix) + len(p.Name) + len(k.Owner) + len(k.Part) + 16)
	b.WriteString(prefix)
	b.WriteString(algorithms[p.Limit.Algorithm].letter)
	b.WriteByte('{')
	writePart(&b, k.Owner)
	b.WriteByte('}')
	writePart(&b, p.Name)
	if k.Part != "" {
		writePart(&b, k.Part)
	}
	return b.String()
}

// reservationKey names the record of one reservation of a claim.
func reservationKey(claimKey, id string) string {
	var b strings.Builder
	b.Grow(len(claimKey) + len(id) + 8)
	b.WriteString(claimKey)
	b.WriteByte('!')
	writePart(&b, id)
	return b.String()
}

// writePart writes "3:abc", or "#" and the SHA-256 where the part is long or holds a brace.
func writePart(b *strings.Builder, s string) {
	if len(s) > maxPart || strings.ContainsAny(s, "{}") {
		sum := sha256.Sum256([]byte(s))
		b.WriteByte('#')
		b.WriteString(base64.RawURLEncoding.EncodeToString(sum[:]))
		return
	}
	b.WriteString(strconv.Itoa(len(s)))
	b.WriteByte(':')
	b.WriteString(s)
}
