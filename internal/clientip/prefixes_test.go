package clientip_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/bankapi/internal/clientip"
)

func TestParsePrefixes(t *testing.T) {
	t.Parallel()
	got, err := clientip.ParsePrefixes(" 10.0.0.0/8, 172.17.0.1/16 ,127.0.0.1,::1, fd00::/8,, ::ffff:192.168.0.0/112,")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"10.0.0.0/8", "172.17.0.0/16", "127.0.0.1/32", "::1/128", "fd00::/8", "192.168.0.0/16"}
	text := make([]string, len(got))
	for i, p := range got {
		text[i] = p.String()
	}
	if diff := cmp.Diff(want, text); diff != "" {
		t.Error(diff)
	}
	if none, err := clientip.ParsePrefixes(" , "); err != nil || none != nil {
		t.Errorf("an empty list = %v, %v; want nothing", none, err)
	}
}

func TestParsePrefixesReportsAllFaultsAtOnce(t *testing.T) {
	t.Parallel()
	faulty := []string{"0.0.0.0/0", "::/0", "::ffff:0.0.0.0/96", "::ffff:1.2.3.4/3", "10.0.0.0/33", "proxy.internal", "fe80::1%eth0", "10.0.0/8"}
	got, err := clientip.ParsePrefixes("10.0.0.0/8," + strings.Join(faulty, ","))
	if err == nil || got != nil {
		t.Fatalf("got %v, %v; want only an error", got, err)
	}
	for _, s := range faulty {
		if !strings.Contains(err.Error(), `"`+s+`"`) {
			t.Errorf("the error does not name %q:\n%v", s, err)
		}
	}
	if n := strings.Count(err.Error(), "trusted proxy"); n != len(faulty) {
		t.Errorf("%d faults reported, want %d:\n%v", n, len(faulty), err)
	}
}

func FuzzParsePrefixes(f *testing.F) {
	f.Add("10.0.0.0/8,::ffff:0.0.0.0/97,1.2.3.4")
	outside := []netip.Addr{netip.MustParseAddr("0.0.0.1"), netip.MustParseAddr("255.255.255.254")}
	f.Fuzz(func(t *testing.T, entry string) {
		prefixes, err := clientip.ParsePrefixes(strings.ReplaceAll(entry, ",", ""))
		if err != nil {
			return
		}
		for _, p := range prefixes {
			if p.Contains(outside[0]) && p.Contains(outside[1]) || p.Bits() == 0 || p.Addr().Is4In6() {
				t.Errorf("%q became %s", entry, p)
			}
		}
	})
}
