package auth

import (
	"regexp"
	"strings"
	"testing"
)

func TestTokensHaveTheirForm(t *testing.T) {
	t.Parallel()
	forms := map[Kind]*regexp.Regexp{
		Session: regexp.MustCompile(`^bank_sess_[0-9A-Za-z]{36}$`),
		APIKey:  regexp.MustCompile(`^bank_key_[0-9A-Za-z]{36}$`),
	}
	seen, used := map[tokenHash]bool{}, map[rune]bool{}
	for kind, form := range forms {
		for range 500 {
			token := newToken(kind)
			got, hash, ok := parseToken(token)
			if !form.MatchString(token) || !ok || got != kind || seen[hash] {
				t.Fatalf("token %q of kind %s: parsed %v as %s, seen before %v", token, kind, ok, got, seen[hash])
			}
			seen[hash] = true
			for _, c := range token[len(kind.prefix()) : len(kind.prefix())+randomLen] {
				used[c] = true
			}
		}
	}
	if len(used) != 62 {
		t.Errorf("%d different characters in 30,000, want all 62", len(used))
	}
}

func TestTheChecksumSeesATypingError(t *testing.T) {
	t.Parallel()
	token := newToken(Session)
	for i := len(sessionPrefix); i < len(token); i++ {
		for _, c := range base62 {
			typed := token[:i] + string(c) + token[i+1:]
			if _, _, ok := parseToken(typed); ok != (typed == token) {
				t.Fatalf("%q with %q at %d: accepted %v", token, c, i, ok)
			}
		}
	}
	if i := len(sessionPrefix); token[i] != token[i+1] {
		swapped := token[:i] + token[i+1:i+2] + token[i:i+1] + token[i+2:]
		if _, _, ok := parseToken(swapped); ok {
			t.Error("two swapped characters were not noticed")
		}
	}
}

// A known answer, so that scanners written from the documentation agree with us.
func TestChecksumOfAKnownToken(t *testing.T) {
	t.Parallel()
	const signed, want = "bank_key_0123456789ABCDEFGHIJKLMNOPQRST", "2PzuJx" // by another program
	if got := checksum([]byte(signed)); string(got[:]) != want {
		t.Errorf("checksum of %s is %s, want %s", signed, got[:], want)
	}
}

func FuzzParseToken(f *testing.F) {
	f.Add(newToken(Session))
	f.Add(newToken(APIKey))
	f.Add("bank_key_" + strings.Repeat("0", 36))
	f.Fuzz(func(t *testing.T, s string) {
		kind, _, ok := parseToken(s)
		if !ok {
			return
		}
		body, cut := strings.CutPrefix(s, kind.prefix())
		sum := checksum([]byte(s[:len(s)-checksumLen]))
		if !cut || len(body) != 36 || body[30:] != string(sum[:]) {
			t.Errorf("%q was accepted as %s", s, kind)
		}
	})
}

func TestParsingATokenAllocatesItsBytesOnly(t *testing.T) {
	token := newToken(Session)
	if n := testing.AllocsPerRun(100, func() { parseToken(token) }); n > 1 {
		t.Errorf("%v allocations, want 1", n)
	}
}
