package idempotency_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"example.com/bankapi/internal/idempotency"
)

func ExampleParseKey() {
	quoted, _ := idempotency.ParseKey([]string{`"8e03978e-40d5"`})
	raw, _ := idempotency.ParseKey([]string{`8e03978e-40d5`})
	fmt.Println(quoted, quoted == raw)
	_, err := idempotency.ParseKey([]string{`a, b`})
	fmt.Println(err)
	// Output:
	// 8e03978e-40d5 true
	// malformed idempotency key
}

func TestParseKey(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("k", 255)
	for _, c := range []struct {
		line, want string
		err        error
	}{
		{"a", "a", nil},
		{`"a"`, "a", nil},
		{" a\t", "a", nil},
		{` "a" `, "a", nil},
		{"!#$%&'()*+-./09:<=>?@AZ[]^_`az{|}~", "!#$%&'()*+-./09:<=>?@AZ[]^_`az{|}~", nil},
		{longest, longest, nil},
		{`"` + longest + `"`, longest, nil},
		{longest + "k", "", idempotency.ErrKeyInvalid},
		{"", "", idempotency.ErrKeyInvalid},
		{" ", "", idempotency.ErrKeyInvalid},
		{`""`, "", idempotency.ErrKeyInvalid},
		{`"`, "", idempotency.ErrKeyInvalid},
		{`"a`, "", idempotency.ErrKeyInvalid},
		{`a"`, "", idempotency.ErrKeyInvalid},
		{`""a""`, "", idempotency.ErrKeyInvalid},
		{`"a" "b"`, "", idempotency.ErrKeyInvalid},
		{"a b", "", idempotency.ErrKeyInvalid},
		{`" a"`, "", idempotency.ErrKeyInvalid},
		{"a,b", "", idempotency.ErrKeyInvalid},
		{`"a", "b"`, "", idempotency.ErrKeyInvalid},
		{`"a";p=1`, "", idempotency.ErrKeyInvalid},
		{`"0";a=%0`, "", idempotency.ErrKeyInvalid},
		{`a\b`, "", idempotency.ErrKeyInvalid},
		{`"a\"b"`, "", idempotency.ErrKeyInvalid},
		{"ключ", "", idempotency.ErrKeyInvalid},
		{"a\u00a0", "", idempotency.ErrKeyInvalid},
		{"a\x00", "", idempotency.ErrKeyInvalid},
		{"a\x7f", "", idempotency.ErrKeyInvalid},
		{"a\xff", "", idempotency.ErrKeyInvalid},
	} {
		got, err := idempotency.ParseKey([]string{c.line})
		if string(got) != c.want || !errors.Is(err, c.err) {
			t.Errorf("%q: %q, %v; want %q, %v", c.line, got, err, c.want, c.err)
		}
	}
}

func TestKeyIsOneLine(t *testing.T) {
	t.Parallel()
	if _, err := idempotency.ParseKey(nil); !errors.Is(err, idempotency.ErrKeyMissing) {
		t.Errorf("no line: %v", err)
	}
	if _, err := idempotency.ParseKey([]string{"a", "a"}); !errors.Is(err, idempotency.ErrKeyInvalid) {
		t.Errorf("two lines: %v", err)
	}
}

// Whatever is accepted is a key in the alphabet, and both of its spellings name it.
func FuzzParseKey(f *testing.F) {
	for _, seed := range []string{"a", `"a"`, "a b", `"0";a=%0`, `""`, "\xff", `"a\"b"`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		key, err := idempotency.ParseKey([]string{line})
		if err != nil {
			if key != "" || !errors.Is(err, idempotency.ErrKeyInvalid) {
				t.Fatalf("%q: key %q with error %v", line, key, err)
			}
			return
		}
		if len(key) < 1 || len(key) > 255 || strings.Trim(line, " \t\"") != string(key) {
			t.Fatalf("%q was read as %q", line, key)
		}
		for i := range len(key) {
			if key[i] < 0x21 || key[i] > 0x7e || strings.IndexByte(`"\,;`, key[i]) >= 0 {
				t.Fatalf("%q holds %q", key, key[i])
			}
		}
		for _, spelling := range []string{string(key), `"` + string(key) + `"`} {
			if again, err := idempotency.ParseKey([]string{spelling}); err != nil || again != key {
				t.Fatalf("%q was read as %q, %v", spelling, again, err)
			}
		}
	})
}
