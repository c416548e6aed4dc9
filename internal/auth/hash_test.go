package auth

import (
	"strings"
	"testing"

	"golang.org/x/crypto/argon2"
	"golang.org/x/sync/semaphore"
)

func testHasher(p HashParams) *hasher {
	return &hasher{params: p, slots: semaphore.NewWeighted(1), derive: argon2.IDKey}
}

func TestHashAndVerify(t *testing.T) {
	t.Parallel()
	h := testHasher(owasp)
	stored, err := h.hash(t.Context(), password)
	if err != nil {
		t.Fatal(err)
	}
	text := stored.String()
	if !strings.HasPrefix(text, "$argon2id$v=19$m=19456,t=2,p=1$") || len(text) != 97 {
		t.Errorf("stored as %q", text)
	}
	back, err := parsePHC(text)
	if err != nil {
		t.Fatal(err)
	}
	for p, want := range map[string]bool{password: true, password + " ": false, "": false} {
		if got, err := h.verify(t.Context(), p, back); err != nil || got != want {
			t.Errorf("verify(%q) = %v, %v; want %v", p, got, err, want)
		}
	}
	if other, _ := h.hash(t.Context(), password); other.String() == text {
		t.Error("two hashes of one password are equal: no salt")
	}
}

// From the reference implementation's test vectors: password "password", salt "somesalt", t=2, m=64 MiB, p=1.
func TestVerifiesAHashOfTheReferenceImplementation(t *testing.T) {
	t.Parallel()
	const reference = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
	stored, err := parsePHC(reference)
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := testHasher(owasp).verify(t.Context(), "password", stored); err != nil || !ok {
		t.Errorf("verify = %v, %v; want true", ok, err)
	}
}

func TestParsePHCRefuses(t *testing.T) {
	t.Parallel()
	good, err := testHasher(cheap).hash(t.Context(), password)
	if err != nil {
		t.Fatal(err)
	}
	text := good.String()
	bad := []string{
		"", "$", "plain", text + "$", text + "=", text[:len(text)-1], strings.Replace(text, "id$", "i$", 1),
		strings.Replace(text, "v=19", "v=16", 1), strings.Replace(text, "t=1", "t=0", 1), strings.Replace(text, "t=1", "t=01", 1),
		strings.Replace(text, "p=1", "p=0", 1), strings.Replace(text, "p=1", "p=256", 1), strings.Replace(text, "m=64", "m=4294967295", 1),
		strings.Replace(text, "m=64", "m=7", 1), strings.Replace(text, "t=1", "t=99999999", 1), strings.Replace(text, "m=64", "m=-64", 1),
		"$argon2id$v=19$m=64,t=1,p=1$$", "$argon2id$v=19$m=64,t=1,p=1$c29tZXNhbHQ$",
	}
	for _, s := range bad {
		if p, err := parsePHC(s); err != errHashFormat { //nolint:errorlint // exactly this error: nothing is quoted
			t.Errorf("parsePHC(%q) = %+v, %v; want errHashFormat", s, p, err)
		}
	}
}

func FuzzParsePHC(f *testing.F) {
	f.Add("$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc")
	f.Fuzz(func(t *testing.T, s string) {
		if p, err := parsePHC(s); err == nil && (p.String() != s || !p.params.sane()) {
			t.Errorf("%q was read as %q", s, p)
		}
	})
}

func BenchmarkHash(b *testing.B) {
	h := testHasher(owasp)
	for b.Loop() {
		if _, err := h.hash(b.Context(), password); err != nil {
			b.Fatal(err)
		}
	}
}
