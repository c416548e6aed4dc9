package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"hash/crc32"
	"strings"
)

// Kind tells the two credentials apart.
type Kind uint8

// The kinds. The zero value is neither.
const (
	Session Kind = iota + 1
	APIKey
)

func (k Kind) String() string {
	switch k {
	case Session:
		return "session"
	case APIKey:
		return "api_key"
	}
	return "none"
}

const (
	sessionPrefix = "bank_sess_"
	apiKeyPrefix  = "bank_key_"
	resetPrefix   = "bank_reset_" // of a password reset: no credential
	randomLen     = 30            // base62 characters, 178 bits
	checksumLen   = 6             // base62 characters hold any CRC-32
	maxTokenLen   = len(resetPrefix) + randomLen + checksumLen
	base62        = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

func (k Kind) prefix() string {
	if k == APIKey {
		return apiKeyPrefix
	}
	return sessionPrefix
}

// tokenHash is what the database and the caches know of a token.
type tokenHash [sha256.Size]byte

// newToken returns a token nobody has seen.
func newToken(kind Kind) string { return mint(kind.prefix()) }

func mint(prefix string) string {
	token := append(make([]byte, 0, maxTokenLen), prefix...)
	token = appendRandom62(token, randomLen)
	sum := checksum(token)
	return string(append(token, sum[:]...))
}

// appendRandom62 appends n characters, each equally likely: bytes beyond the last multiple of 62 are thrown away.
func appendRandom62(dst []byte, n int) []byte {
	for buf := [64]byte{}; n > 0; {
		_, _ = rand.Read(buf[:]) // never fails
		for _, b := range buf {
			if n > 0 && b < 256/62*62 {
				dst = append(dst, base62[b%62])
				n--
			}
		}
	}
	return dst
}

// checksum is the CRC-32 of prefix and random part in base62. It lets a scanner or a form see a typing error and proves
// nothing: anyone can compute it.
func checksum(b []byte) (out [checksumLen]byte) {
	sum := crc32.ChecksumIEEE(b)
	for i := checksumLen - 1; i >= 0; i-- {
		out[i] = base62[sum%62]
		sum /= 62
	}
	return out
}

// parseToken returns the kind and the hash of a token that newToken could have made.
func parseToken(token string) (Kind, tokenHash, bool) {
	kind := Session
	if strings.HasPrefix(token, apiKeyPrefix) {
		kind = APIKey
	}
	hash, ok := parse(kind.prefix(), token)
	if !ok {
		return 0, tokenHash{}, false
	}
	return kind, hash, true
}

// parse returns the hash of a token that mint could have made with a prefix.
func parse(prefix, token string) (tokenHash, bool) {
	random, ok := strings.CutPrefix(token, prefix)
	if !ok || len(random) != randomLen+checksumLen {
		return tokenHash{}, false
	}
	for _, c := range []byte(random) {
		if !isAlphanumeric(c) {
			return tokenHash{}, false
		}
	}
	b := []byte(token)
	signed := len(b) - checksumLen
	if checksum(b[:signed]) != [checksumLen]byte(b[signed:]) {
		return tokenHash{}, false
	}
	return sha256.Sum256(b), true
}

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}
