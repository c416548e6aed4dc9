package httpapi

import (
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestQueryParametersMustBeKnownAndSingle(t *testing.T) {
	t.Parallel()
	for query, want := range map[string][]string{
		"": nil, "limit=1": nil, "limit=1&cursor=x": nil,
		"limit=1&limit=2": {"limit"}, "unknown=1&limit=1": {"unknown"}, "b=1&a=2&limit=1&limit=1": {"a", "b", "limit"},
		"limit=%zz": {""}, "a;b": {""}, "=1": {""}, "Limit=1": {"Limit"},
	} {
		r := httptest.NewRequest("GET", "/transfers", nil)
		r.URL.RawQuery = query
		err := checkQuery(r, []string{"limit", "cursor"})
		if want == nil {
			if err != nil {
				t.Errorf("%q: %v", query, err)
			}
			continue
		}
		var got []string
		for _, fault := range faultsOf(t, err) {
			got = append(got, fault.Parameter)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", query, diff)
		}
	}
}

func TestLimitIsAWholeNumberFrom1To100(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "0", "-1", "101", "1e2", "01", "+1", " 1", "1.0", "99999999999999999999", "x"} {
		if _, err := limitOf(url.Values{"limit": {bad}}); err == nil {
			t.Errorf("limit=%q was accepted", bad)
		}
	}
	for query, want := range map[string]int{"": 20, "limit=1": 1, "limit=100": 100} {
		values, _ := url.ParseQuery(query)
		if got, err := limitOf(values); got != want || err != nil {
			t.Errorf("%q: got %d, %v; want %d", query, got, err, want)
		}
	}
}

func TestCursorsAreBoundToTheirList(t *testing.T) {
	t.Parallel()
	position := [16]byte{1, 2, 3, 15: 255}
	cursor := encodeCursor("entries of acct_a", position)
	if got, err := cursorOf(url.Values{"cursor": {cursor}}, "entries of acct_a"); got != position || err != nil {
		t.Errorf("got %v, %v; want %v", got, err, position)
	}
	if got, err := cursorOf(url.Values{}, "any"); got != ([16]byte{}) || err != nil {
		t.Errorf("no cursor: got %v, %v; want the start", got, err)
	}
	for _, bad := range []string{"", "x", cursor + "A", cursor[:31], cursor[:31] + "=", cursor[:15] + "\n" + cursor[15:], "%00", "AAAA"} {
		if _, err := cursorOf(url.Values{"cursor": {bad}}, "entries of acct_a"); err == nil {
			t.Errorf("cursor %q was accepted", bad)
		}
	}
	if _, err := cursorOf(url.Values{"cursor": {cursor}}, "entries of acct_b"); err == nil {
		t.Error("a cursor of one list was accepted by another")
	}
}

// FuzzCursor: what is accepted is the one spelling of its position.
func FuzzCursor(f *testing.F) {
	f.Add(encodeCursor("list", [16]byte{7}))
	f.Fuzz(func(t *testing.T, text string) {
		position, err := cursorOf(url.Values{"cursor": {text}}, "list")
		if err == nil && encodeCursor("list", position) != text {
			t.Errorf("%q stands for %v, which is spelled otherwise", text, position)
		}
	})
}
