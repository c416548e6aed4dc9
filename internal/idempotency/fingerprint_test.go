package idempotency_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"example.com/bankapi/internal/idempotency"
)

type field = idempotency.Field

func ExampleDiffer() {
	stored := idempotency.Fingerprint("POST", "/transfers", field{"amount", "100"}, field{"currency", "NGN"})
	now := idempotency.Fingerprint("POST", "/transfers", field{"amount", "101"}, field{"currency", "NGN"})
	fmt.Println(idempotency.Differ(stored.Bytes(), now.Bytes()))
	// Output: [amount]
}

func TestPrintsDifferInWhatTheRequestsDo(t *testing.T) {
	t.Parallel()
	print := func(fields ...field) []byte { return idempotency.Fingerprint("POST", "/transfers", fields...).Bytes() }
	base := print(field{"a", "1"}, field{"b", "2"})
	for _, c := range []struct {
		now  []byte
		want []string
	}{
		{print(field{"a", "1"}, field{"b", "2"}), nil},
		{print(field{"a", "3"}, field{"b", "4"}), []string{"a", "b"}},
		{print(field{"a", "1"}), []string{"b"}},
		{print(field{"a", "1"}, field{"b", "2"}, field{"c", ""}), []string{"c"}},
		{print(field{"a", "12"}, field{"b", ""}), []string{"a", "b"}},
		{nil, []string{"a", "b"}},
		{base[:len(base)-1], []string{"b"}},
		{[]byte(strings.Repeat("x", 31)), []string{"a", "b"}},
	} {
		if got := idempotency.Differ(base, c.now); !slices.Equal(got, c.want) {
			t.Errorf("%x: %v, want %v", c.now, got, c.want)
		}
	}
}

func TestMethodAndPatternCount(t *testing.T) {
	t.Parallel()
	post := idempotency.Fingerprint("POST", "/transfers", field{"a", "1"})
	for _, other := range []idempotency.Print{
		idempotency.Fingerprint("PUT", "/transfers", field{"a", "1"}),
		idempotency.Fingerprint("POST", "/transfers/{id}", field{"a", "1"}),
		idempotency.Fingerprint("POST/", "transfers", field{"a", "1"}),
	} {
		if bytes.Equal(post, other) {
			t.Error("two routes have one print")
		}
		if got := idempotency.Differ(post, other); len(got) > 0 {
			t.Errorf("fields %v differ", got)
		}
	}
}

// Equal requests have equal prints, others do not, and exactly the fields whose values differ are named.
func TestPrintIsTheRequest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`[ab:,]{0,3}`)
		first, second := make([]field, 4), make([]field, 4)
		var want []string
		for i := range first {
			name := string(rune('a' + i))
			first[i] = field{name, value.Draw(t, "first")}
			second[i] = field{name, value.Draw(t, "second")}
			if first[i] != second[i] {
				want = append(want, name)
			}
		}
		x, y := idempotency.Fingerprint("POST", "/", first...), idempotency.Fingerprint("POST", "/", second...)
		if bytes.Equal(x, y) != (len(want) == 0) {
			t.Fatalf("prints equal: %v, fields that differ: %v", bytes.Equal(x, y), want)
		}
		if got := idempotency.Differ(x, y); !slices.Equal(got, want) {
			t.Fatalf("Differ: %v, want %v", got, want)
		}
	})
}
