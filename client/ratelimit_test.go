package client

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestQuotasAndLeftsReadTheDraftsExamples(t *testing.T) {
	t.Parallel()
	h := http.Header{}
	h.Set("RateLimit-Policy", `"user";q=10;w=5, "ip";q=300;w=3`)
	h.Add("RateLimit-Policy", `"daily";q=1000;w=86400;qu="requests";pk=:c2VjcmV0:`)
	h.Set("RateLimit", `"user";r=5;t=3,"ip";r=299;t=1 , "daily";t=30561;r=640`)
	quotas, ok := Quotas(h)
	want := []Quota{
		{"user", 10, 5 * time.Second, "requests"}, {"ip", 300, 3 * time.Second, "requests"}, {"daily", 1000, 24 * time.Hour, "requests"},
	}
	if diff := cmp.Diff(want, quotas); diff != "" || !ok {
		t.Errorf("Quotas (-want +got):\n%s", diff)
	}
	lefts, ok := Lefts(h)
	left := []Left{{"user", 5, 3 * time.Second}, {"ip", 299, time.Second}, {"daily", 640, 30561 * time.Second}}
	if diff := cmp.Diff(left, lefts); diff != "" || !ok {
		t.Errorf("Lefts (-want +got):\n%s", diff)
	}
}

func TestLeftsAreLenientToStrangersAndStrictToFaults(t *testing.T) {
	t.Parallel()
	for field, want := range map[string]int{
		`"a";r=1`:                          1,
		`  "a";r=1;t=2  `:                  1,
		`"a"; r=1;  t=2`:                   1,
		`"a";r=1;x;*y=?0;z=tok/en:*;t=1`:   1,
		`"a";r=1;x="\"q\\";y=:aGk=:;z=@-1`: 1,
		`"a";r=1;x=-1.5;y=%"f%c3%bc"`:      1,
		`"a";r=7;r=1, "b";r=0`:             2,
		"\"a\";r=1\t,\t\"b\";r=2":          2,
		`"a";r=999999999999999`:            1,
		`"";r=1`:                           1,

		``:                          0,
		`"a"`:                       0, // r is required
		`"a";r=-1`:                  0,
		`"a";r=1.0`:                 0,
		`"a";r="1"`:                 0,
		`"a";r`:                     0,
		`"a";r=1000000000000000`:    0,
		`"a";r=1;t=-1`:              0,
		`"a";r=1;t=soon`:            0,
		`a;r=1`:                     0, // a Token, not a String
		`"a";r=1,`:                  0,
		`,"a";r=1`:                  0,
		`"a";r=1 "b";r=1`:           0,
		`"a";r=1,,"b";r=1`:          0,
		`"a;r=1`:                    0,
		`"a" ;r=1`:                  0,
		`"a";R=1`:                   0,
		`"a";r=`:                    0,
		`"a";r=1;x=%"%C3"`:          0,
		`"a";r=1;x=:not base64:`:    0,
		`"a";r=1;x=?2`:              0,
		`"a";r=1;x=1.`:              0,
		`"a";r=1;x=1.1234`:          0,
		`"a";r=1;x=@1.5`:            0,
		`"ä";r=1`:                   0,
		`"a";r=1, "b"`:              0, // one fault voids all
		`("a" "b");r=1`:             0,
		`"a";r=1;x="\n"`:            0,
		`"a";r=1;t=1;x=:aGk=`:       0,
		"\"a\";r=1\n":               0,
		`"a";r=1;x=1234567890123.1`: 0,
	} {
		h := http.Header{}
		h.Set("RateLimit", field)
		if got, ok := Lefts(h); len(got) != want || ok != (want > 0) {
			t.Errorf("%s: got %v, %v, want %d", field, got, ok, want)
		}
	}
	for _, field := range []string{`"a";q=1;w=0`, `"a";w=1`, `"a";q=1;w=-1`, `"a";q=1;qu=requests`, `"a";q=1;qu=1`} {
		h := http.Header{}
		h.Set("RateLimit-Policy", field)
		if got, ok := Quotas(h); ok {
			t.Errorf("%s: got %v, want nothing", field, got)
		}
	}
}

// What is understood can be written down again and is then understood as the same; and whatever is appended that is no
// further member voids it.
func FuzzLeftsMeanWhatTheySay(f *testing.F) {
	for _, seed := range []string{`"user";r=5;t=3, "ip";r=299;t=3`, `"a";r=1;x=%"%c3";y=:aGk=:;z=?1`, `"\"";r=0`, `"a";r=1,`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, field string) {
		lefts, ok := Lefts(http.Header{"Ratelimit": {field}})
		if ok != (len(lefts) > 0) {
			t.Fatalf("%q: %v, %v", field, lefts, ok)
		}
		if !ok {
			return
		}
		var members []string
		for _, l := range lefts {
			if l.Units < 0 || l.Window < 0 {
				t.Fatalf("%q: %v", field, l)
			}
			name := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(l.Policy)
			members = append(members, `"`+name+`"`+fmt.Sprintf(";r=%d;t=%d", l.Units, l.Window/time.Second))
		}
		again, _ := Lefts(http.Header{"Ratelimit": members})
		if diff := cmp.Diff(lefts, again); diff != "" && !strings.Contains(diff, "9223372036") {
			t.Fatalf("%q, written again as %q (-first +second):\n%s", field, members, diff)
		}
		for _, junk := range []string{",", `, "`, ", a", `, "b"`, " x", ";=", "\x00"} {
			if got, ok := Lefts(http.Header{"Ratelimit": {field + junk}}); ok {
				t.Fatalf("%q with %q appended: %v", field, junk, got)
			}
		}
	})
}
