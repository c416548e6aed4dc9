package clientip_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"example.com/bankapi/internal/clientip"
)

func ExampleResolver_From() {
	trusted, _ := clientip.ParsePrefixes("10.0.0.0/8")
	r := clientip.Resolver{Trusted: trusted}
	fmt.Println(r.From("10.0.0.2:51034", []string{"6.6.6.6, 203.0.113.9, 10.0.0.7"}))
	fmt.Println(r.From("203.0.113.9:51034", []string{"6.6.6.6"})) // not our proxy: its header is a claim
	// Output:
	// 203.0.113.9
	// 203.0.113.9
}

func resolver(t testing.TB, trusted string) clientip.Resolver {
	t.Helper()
	prefixes, err := clientip.ParsePrefixes(trusted)
	if err != nil {
		t.Fatal(err)
	}
	return clientip.Resolver{Trusted: prefixes}
}

func TestFrom(t *testing.T) {
	t.Parallel()
	const ours = "10.0.0.0/8, 127.0.0.1, fd00::/8, fe80::/10"
	tests := map[string]struct {
		trusted, peer string
		lines         []string
		want          string
	}{
		"nobody trusted":              {"", "10.0.0.1:1", []string{"1.2.3.4"}, "10.0.0.1"},
		"peer is not ours":            {ours, "192.0.2.1:1", []string{"1.2.3.4"}, "192.0.2.1"},
		"no header":                   {ours, "10.0.0.1:1", nil, "10.0.0.1"},
		"one hop":                     {ours, "10.0.0.1:1", []string{"1.2.3.4"}, "1.2.3.4"},
		"right-most untrusted wins":   {ours, "10.0.0.1:1", []string{"6.6.6.6, 1.2.3.4"}, "1.2.3.4"},
		"our hops are passed":         {ours, "10.0.0.1:1", []string{"6.6.6.6, 1.2.3.4, 10.9.9.9, 10.8.8.8"}, "1.2.3.4"},
		"two lines are one list":      {ours, "10.0.0.1:1", []string{"6.6.6.6", "1.2.3.4", "10.9.9.9"}, "1.2.3.4"},
		"later line wins":             {ours, "10.0.0.1:1", []string{"1.2.3.4", "6.6.6.6"}, "6.6.6.6"},
		"all trusted: the left-most":  {ours, "10.0.0.1:1", []string{"10.3.3.3, 10.2.2.2"}, "10.3.3.3"},
		"empty entries are skipped":   {ours, "10.0.0.1:1", []string{",, 1.2.3.4 ,\t, ,", "", " "}, "1.2.3.4"},
		"nonsense stops the walk":     {ours, "10.0.0.1:1", []string{"1.2.3.4, unknown, 10.2.2.2"}, "10.2.2.2"},
		"nonsense at once":            {ours, "10.0.0.1:1", []string{"1.2.3.4, _hidden"}, "10.0.0.1"},
		"spoof of our own address":    {ours, "10.0.0.1:1", []string{"10.0.0.9, 1.2.3.4"}, "1.2.3.4"},
		"IPv4 with port":              {ours, "10.0.0.1:1", []string{"1.2.3.4:80"}, "1.2.3.4"},
		"IPv6":                        {ours, "10.0.0.1:1", []string{"2001:db8::1"}, "2001:db8::1"},
		"IPv6 in brackets":            {ours, "10.0.0.1:1", []string{"[2001:db8::1]"}, "2001:db8::1"},
		"IPv6 in brackets with port":  {ours, "10.0.0.1:1", []string{"[2001:db8::1]:443"}, "2001:db8::1"},
		"IPv6 with zone":              {"10.0.0.0/8", "10.0.0.1:1", []string{"fe80::1%eth0"}, "fe80::1"},
		"zone, brackets and port":     {"10.0.0.0/8", "10.0.0.1:1", []string{"[fe80::1%eth0]:80"}, "fe80::1"},
		"zone dropped before test":    {ours, "[fe80::2%eth0]:1", []string{"1.2.3.4"}, "1.2.3.4"},
		"mapped peer is ours":         {ours, "[::ffff:10.0.0.1]:1", []string{"1.2.3.4"}, "1.2.3.4"},
		"mapped hop is ours":          {ours, "10.0.0.1:1", []string{"1.2.3.4, ::ffff:10.2.2.2"}, "1.2.3.4"},
		"mapped client is unmapped":   {ours, "10.0.0.1:1", []string{"::ffff:1.2.3.4"}, "1.2.3.4"},
		"mapped with zone":            {ours, "10.0.0.1:1", []string{"1.2.3.4, ::ffff:10.2.2.2%eth0"}, "1.2.3.4"},
		"trusted written as mapped":   {"::ffff:10.0.0.0/104", "10.0.0.1:1", []string{"1.2.3.4"}, "1.2.3.4"},
		"NAT64 is not looked into":    {ours, "[64:ff9b::a00:1]:1", []string{"1.2.3.4"}, "64:ff9b::a00:1"},
		"peer without a port":         {ours, "10.0.0.1", []string{"1.2.3.4"}, "1.2.3.4"},
		"Unix socket":                 {ours, "@", []string{"1.2.3.4"}, "invalid IP"},
		"no peer":                     {ours, "", []string{"1.2.3.4"}, "invalid IP"},
		"IPv4 in brackets":            {ours, "10.0.0.1:1", []string{"[1.2.3.4]"}, "10.0.0.1"},
		"port out of range":           {ours, "10.0.0.1:1", []string{"1.2.3.4:65536"}, "10.0.0.1"},
		"empty port":                  {ours, "10.0.0.1:1", []string{"1.2.3.4:"}, "10.0.0.1"},
		"leading zeros":               {ours, "10.0.0.1:1", []string{"001.2.3.4"}, "10.0.0.1"},
		"half a bracket":              {ours, "10.0.0.1:1", []string{"[::1"}, "10.0.0.1"},
		"a quoted address is none":    {ours, "10.0.0.1:1", []string{`"1.2.3.4"`}, "10.0.0.1"},
		"a network is not an address": {ours, "10.0.0.1:1", []string{"1.2.3.0/24"}, "10.0.0.1"},
	}
	for name, tt := range tests {
		if got := resolver(t, tt.trusted).From(tt.peer, tt.lines).String(); got != tt.want {
			t.Errorf("%s: From(%q, %q) = %s, want %s", name, tt.peer, tt.lines, got, tt.want)
		}
	}
}

func TestBucket(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"198.51.100.66":          "198.51.100.66/32",
		"::ffff:198.51.100.66":   "198.51.100.66/32",
		"64:ff9b::198.51.100.66": "198.51.100.66/32",
		"64:ff9b:1::1":           "64:ff9b:1::/64",
		"2001:db8:1:2:3:4:5:6":   "2001:db8:1:2::/64",
		"2001:db8:1:2::":         "2001:db8:1:2::/64",
		"fe80::1%eth0":           "fe80::/64",
		"::1":                    "::/64",
	}
	for addr, want := range tests {
		if got := clientip.Bucket(netip.MustParseAddr(addr)).String(); got != want {
			t.Errorf("Bucket(%s) = %s, want %s", addr, got, want)
		}
	}
	if got := clientip.Bucket(netip.Addr{}); got.IsValid() {
		t.Errorf("Bucket of no address = %s, want none", got)
	}
}

// Whatever a client sends, our proxy appends the address it saw, and that is the answer: here client is the right-most
// address that is not ours, garbage is all that stands left of it, and proxies are ours.
func FuzzFrom(f *testing.F) {
	f.Add("6.6.6.6, 10.0.0.1", []byte{203, 0, 113, 9}, byte(2), true)
	f.Add("unknown,,[::1]:80", []byte("\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01"), byte(0), false)
	f.Add("fe80::1%eth0, ::ffff:10.0.0.1", []byte{10, 0, 0, 9}, byte(1), true)
	r := resolver(f, "10.0.0.0/8, fd00::/8")
	f.Fuzz(func(t *testing.T, garbage string, raw []byte, proxies byte, sameLine bool) {
		client, ok := netip.AddrFromSlice(raw)
		if !ok {
			t.Skip()
		}
		client = client.Unmap()
		ours := func(a netip.Addr) bool {
			return slices.ContainsFunc(r.Trusted, func(p netip.Prefix) bool { return p.Contains(a) })
		}
		seen := []string{client.String()}
		for i := range proxies % 4 {
			seen = append(seen, fmt.Sprintf("10.1.1.%d", i))
		}
		lines := append([]string{garbage}, seen...)
		if sameLine {
			lines = []string{garbage + "," + strings.Join(seen, " , ")}
		}
		got := r.From("10.0.0.1:4711", lines)
		if !ours(client) && got != client {
			t.Errorf("From(%q) = %s, but our proxy saw %s", lines, got, client)
		}
		if ours(got) && !ours(client) {
			t.Errorf("From(%q) = %s, one of our proxies", lines, got)
		}
		if direct := r.From(netip.AddrPortFrom(client, 1).String(), []string{garbage}); !ours(client) && direct != client {
			t.Errorf("peer %s was taken for %s on its own word %q", client, direct, garbage)
		}
		if got.Zone() != "" || got.Is4In6() {
			t.Errorf("From(%q) = %s, not in plain form", lines, got)
		}
	})
}

func TestFromDoesNotAllocate(t *testing.T) {
	r := resolver(t, "10.0.0.0/8")
	lines := []string{"6.6.6.6, 203.0.113.9, [2001:db8::7]:443, 10.0.0.7"}
	if n := testing.AllocsPerRun(100, func() { r.From("10.0.0.2:51034", lines) }); n > 0 {
		t.Errorf("%v allocations a request, want 0", n)
	}
}
