package id_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"
	"pgregory.net/rapid"

	"example.com/bankapi/internal/id"
)

func ExampleID_Encode() {
	var i id.ID
	copy(i[:], "\x01\x9a\xcb\x21\x33\x00\x70\x00\x80\x00\x00\x00\x00\x00\x00\x01")
	s := i.Encode("acct")
	back, err := id.Parse("acct", s)
	fmt.Println(s, back == i, err)
	_, err = id.Parse("usr", s)
	fmt.Println(err)
	// Output:
	// acct_06dcm89j01o010000000000004 true <nil>
	// malformed id
}

func anyID(t *rapid.T, label string) (i id.ID) {
	copy(i[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, label))
	return i
}

func TestEveryIDSurvivesTheRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := anyID(t, "id")
		prefix := rapid.StringMatching(`[a-z]{2,4}`).Draw(t, "prefix")
		s := want.Encode(prefix)
		if got, err := id.Parse(prefix, s); err != nil || got != want {
			t.Fatalf("Parse(%q) = %x, %v; want %x", s, got, err, want)
		}
	})
}

func TestTextSortsAsTheBytesDo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyID(t, "a"), anyID(t, "b")
		if got, want := strings.Compare(a.Encode("tr"), b.Encode("tr")), a.Compare(b); got != want {
			t.Fatalf("text of %x and %x compares %d, bytes %d", a, b, got, want)
		}
	})
}

func TestNewIDsAreDistinctAndAscend(t *testing.T) {
	t.Parallel()
	ids := make([]id.ID, 5000)
	for i := range ids {
		ids[i] = id.New()
	}
	if !slices.IsSortedFunc(ids, id.ID.Compare) {
		t.Error("IDs made one after the other are not sorted")
	}
	if n := len(slices.Compact(slices.Clone(ids))); n != len(ids) {
		t.Errorf("%d distinct IDs, want %d", n, len(ids))
	}
	if v := ids[0][6] >> 4; v != 7 || ids[0].IsZero() {
		t.Errorf("New() = %x: version %d, want 7", ids[0], v)
	}
}

func TestParseAcceptsOnlyTheCanonicalSpelling(t *testing.T) {
	t.Parallel()
	good := id.New().Encode("usr")
	body := good[len("usr_"):]
	bad := map[string]string{
		"empty":               "",
		"no prefix":           body,
		"other prefix":        "tr_" + body,
		"longer prefix":       "xusr_" + body,
		"upper case":          strings.ToUpper(good),
		"upper case body":     "usr_" + strings.ToUpper(body[:25]) + "A",
		"short":               good[:len(good)-1],
		"long":                good + "0",
		"padding":             good[:len(good)-1] + "=",
		"outside alphabet":    "usr_w" + body[1:],
		"line break inside":   "usr_" + body[:10] + "\n" + body[11:],
		"line break at end":   good[:len(good)-1] + "\n",
		"trailing bits set":   "usr_" + strings.Repeat("0", 25) + "1",
		"all bits set":        "usr_" + strings.Repeat("v", 26),
		"dash instead of _":   "usr-" + body,
		"uuid":                "usr_019acb21-3300-7000-8000-0000",
		"multi-byte":          "usr_" + strings.Repeat("é", 13),
		"space before":        " " + good[:len(good)-1],
		"NUL":                 "usr_" + body[:25] + "\x00",
		"prefix only":         "usr_",
		"underscore shifted":  "us_r" + body,
		"prefix in uppercase": "USR_" + body,
	}
	for name, s := range bad {
		if got, err := id.Parse("usr", s); !errors.Is(err, id.ErrMalformed) || !got.IsZero() {
			t.Errorf("%s: Parse(%q) = %x, %v; want ErrMalformed", name, s, got, err)
		}
	}
}

// Exactly one string names an ID: whatever Parse accepts is what Encode writes.
func FuzzParse(f *testing.F) {
	f.Add("usr", id.New().Encode("usr"))
	f.Add("usr", "usr_"+strings.Repeat("v", 26))
	f.Add("", "_"+strings.Repeat("0", 26))
	f.Fuzz(func(t *testing.T, prefix, s string) {
		got, err := id.Parse(prefix, s)
		if err == nil && got.Encode(prefix) != s {
			t.Errorf("Parse(%q, %q) = %s, spelled %q", prefix, s, hex.EncodeToString(got[:]), got.Encode(prefix))
		}
	})
}

type named id.ID // as features do: the methods of ID are gone

func TestColumnsAreUUIDsForNamedTypesToo(t *testing.T) {
	t.Parallel()
	m, want := pgtype.NewMap(), id.New()
	for _, format := range []int16{pgtype.BinaryFormatCode, pgtype.TextFormatCode} {
		for _, v := range []any{want, named(want), &want} {
			wire, err := m.Encode(pgtype.UUIDOID, format, v, nil)
			if err != nil {
				t.Fatalf("encode %T in format %d: %v", v, format, err)
			}
			var plain id.ID
			if err := m.Scan(pgtype.UUIDOID, format, wire, &plain); err != nil || plain != want {
				t.Errorf("format %d: scan into ID: %x, %v; want %x", format, plain, err, want)
			}
			var own named
			if err := m.Scan(pgtype.UUIDOID, format, wire, &own); err != nil || id.ID(own) != want {
				t.Errorf("format %d: scan into a named ID: %x, %v; want %x", format, own, err, want)
			}
		}
	}
}

func TestNullIsNotAnID(t *testing.T) {
	t.Parallel()
	m := pgtype.NewMap()
	var got id.ID
	if err := m.Scan(pgtype.UUIDOID, pgtype.BinaryFormatCode, nil, &got); err == nil {
		t.Error("NULL was scanned into an ID")
	}
	var maybe *id.ID
	if err := m.Scan(pgtype.UUIDOID, pgtype.BinaryFormatCode, nil, &maybe); err != nil || maybe != nil {
		t.Errorf("scan NULL into *ID: %v, %v; want nil, nil", maybe, err)
	}
}

func BenchmarkParse(b *testing.B) {
	s := id.New().Encode("acct")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := id.Parse("acct", s); err != nil {
			b.Fatal(err)
		}
	}
}
