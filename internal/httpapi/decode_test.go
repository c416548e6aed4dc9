package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
)

// faultsOf returns the faults of an error as "pointer detail" lines.
func faultsOf(t *testing.T, err error) []Fault {
	t.Helper()
	p, ok := errors.AsType[*Problem](err)
	if !ok {
		t.Fatalf("got error %v, want a problem", err)
	}
	return p.Faults
}

func TestBodyIsExactlyOneObject(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ body, pointer, detail string }{
		{"", "", "empty"},
		{" \n", "", "empty"},
		{"[]", "", "must be a JSON object"},
		{"null", "", "must be a JSON object"},
		{`"x"`, "", "must be a JSON object"},
		{"{", "", "ends too early"},
		{`{"a"`, "#/a", "ends too early"},
		{`{"a":1`, "#/a", "ends too early"},
		{`{"a":1,}`, "#/a", "malformed"},
		{`{"a":007}`, "#/a", "malformed"},
		{`{"a":+1}`, "#/a", "malformed"},
		{`{"a":[1 2]}`, "#/a/0", "malformed"},
		{`{"a":[1,x]}`, "#/a/1", "malformed"},
		{`{"a":{"b":}}`, "#/a/b", "malformed"},
		{`{"a":1]`, "#/a", "malformed"},
		{`{1:1}`, "", "malformed"},
		{"\ufeff{}", "", "malformed"},
		{`{"a":1}{}`, "", "something after"},
		{`{"a":1} x`, "", "something after"},
		{`{"a":1,"b":2,"a":3}`, "#/a", "twice"},
		{`{"a":1,"\u0061":3}`, "#/a", "twice"},
		{`{"a":[{"b":{"c":1,"c":2}}]}`, "#/a/0/b/c", "twice"},
		{`{"a/b~c":{"d é":1,"d é":1}}`, "#/a~1b~0c/d%20%C3%A9", "twice"},
		{"{\"a\":\"\xff\"}", "", "not UTF-8"},
		{`{"a":"x\u0000y"}`, "#/a", "U+0000"},
		{`{"a\u0000":1}`, "#/a%00", "U+0000"},
		{`{"a":["\ud800"]}`, "#/a/0", "unpaired surrogate"},
		{`{"a":"\udc00\ud800"}`, "#/a", "unpaired surrogate"},
		{`{"a":"\ud800\ud800\udc00"}`, "#/a", "unpaired surrogate"},
		{`{"\ud800":1}`, "#/%EF%BF%BD", "unpaired surrogate"},
		{`{"a":{"x\ud800":1}}`, "#/a/x%EF%BF%BD", "unpaired surrogate"},
		{`{"a":` + strings.Repeat("[", 5000), "#/a" + strings.Repeat("/0", maxDepth), "too deeply"},
	} {
		_, err := parseObject([]byte(test.body))
		got := faultsOf(t, err)
		if len(got) != 1 || got[0].Pointer != test.pointer || !strings.Contains(got[0].Detail, test.detail) {
			t.Errorf("%.60q: got %+v, want %q at %q", test.body, got, test.detail, test.pointer)
		}
	}
}

func TestAcceptsWhatJSONAllows(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		"{}", " \t\r\n{ \"a\" : [ 1 , { \"b\" : null } , \"\" ] }\n", `{"a":"\ud83d\ude00\ufffd\\ud800"}`, "{\"a\":\"\ufffd\"}", `{"":0}`,
		`{"a":{"x":1},"b":{"x":1}}`, `{"a":"\\u0000"}`, `{"a":1E700}`,
		`{"a":` + strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth) + `}`,
	} {
		got, err := parseObject([]byte(body))
		if err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		checkSameMeaning(t, []byte(body), got)
	}
}

// checkSameMeaning fails unless the members say what encoding/json reads in the body.
func checkSameMeaning(t *testing.T, body []byte, got object) {
	t.Helper()
	encoded := encoding(t, got)
	meant, err := meaning(body)
	if err != nil {
		t.Fatalf("accepted %q, which encoding/json refuses: %v", body, err)
	}
	if means, err := meaning(encoded); err != nil || !reflect.DeepEqual(meant, means) {
		t.Fatalf("%q re-encodes to %q (%v)", body, encoded, err)
	}
}

// meaning keeps numbers as they are written: JSON has some that no float64 holds.
func meaning(text []byte) (value any, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	err = dec.Decode(&value)
	return value, err
}

// encoding writes the object with its names spelled anew.
func encoding(t *testing.T, o object) []byte {
	t.Helper()
	members := map[string]json.RawMessage{}
	for _, m := range o {
		members[string(m.name)] = json.RawMessage(m.raw)
	}
	encoded, err := json.Marshal(members)
	if err != nil {
		t.Fatalf("re-encode %v: %v", members, err)
	}
	return encoded
}

func TestContentTypeMustBeJSON(t *testing.T) {
	t.Parallel()
	for contentType, want := range map[string]bool{
		"application/json": true, "Application/JSON; charset=utf-8": true, "": false, "text/plain": false, "application/jsonx": false, ";;;": false,
	} {
		r := httptest.NewRequest("POST", "/", strings.NewReader("{}"))
		r.Header.Set("Content-Type", contentType)
		if _, err := readObject(r); (err == nil) != want {
			t.Errorf("%q: got error %v, want accepted %t", contentType, err, want)
		}
	}
}

func TestBodyIsReadToItsEnd(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		announced int64
		detail    string
	}{{8, ""}, {-1, ""}, {maxBody + 1, ""}, {9, "could not be read to its end"}} {
		r := httptest.NewRequest("POST", "/", strings.NewReader(`{"a":12}`))
		r.Header.Set("Content-Type", "application/json")
		r.ContentLength = test.announced
		got, err := readObject(r)
		if test.detail == "" && (err != nil || len(got) != 1 || string(got[0].raw) != "12") {
			t.Errorf("announced %d: got %v, %v", test.announced, got, err)
		}
		if test.detail != "" && !strings.Contains(faultsOf(t, err)[0].Detail, test.detail) {
			t.Errorf("announced %d: got %v, want %q", test.announced, err, test.detail)
		}
	}
}

func TestAmountsAreWholeNumbersAsWritten(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		"0", "-1", "-0", "1.5", "1.0", "1e2", "1E0", `"100"`, `""`, "null", "true", "[]", "{}",
		"1000000000001", "9223372036854775808", "1" + strings.Repeat("0", 30),
	} {
		f := fields{members: object{{[]byte("amount"), []byte(bad)}}}
		f.amount("amount")
		if got := faultsOf(t, f.err()); len(got) != 1 || got[0].Pointer != "#/amount" {
			t.Errorf("amount %s: got faults %+v, want one at #/amount", bad, got)
		}
	}
	for text, want := range map[string]int64{"1": 1, "12550": 12550, "1000000000000": 1_000_000_000_000} {
		f := fields{members: object{{[]byte("amount"), []byte(text)}}}
		if got := f.amount("amount"); got != want || f.err() != nil {
			t.Errorf("amount %s: got %d, %v", text, got, f.err())
		}
	}
}

func TestTellsEveryFaultAtOnce(t *testing.T) {
	t.Parallel()
	members, err := parseObject([]byte(`{"amount":1.5,"name":"a\tb","memo":7,"long":"xxxx","extra":1,"Amount":2,"currency":"ngn","blank":""}`))
	if err != nil {
		t.Fatal(err)
	}
	f := fields{members: members}
	f.amount("amount")
	f.text("name", 10)
	f.optionalText("memo", 10)
	f.text("long", 3)
	f.currency("currency")
	f.text("blank", 3)
	f.secret("absent", 3)
	var got []string
	for _, fault := range faultsOf(t, f.err()) {
		got = append(got, fault.Pointer)
	}
	want := []string{"#/amount", "#/name", "#/memo", "#/long", "#/currency", "#/blank", "#/absent", "#/Amount", "#/extra"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got faults at %v, want %v", got, want)
	}
}

func TestTextKeepsItsDirection(t *testing.T) {
	t.Parallel()
	faults := func(s string) int {
		raw, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		f := fields{members: object{{[]byte("name"), raw}, {[]byte("memo"), raw}}}
		f.text("name", 64)
		f.optionalText("memo", 64)
		return len(f.faults)
	}
	for _, r := range "\u0085\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069" {
		if n := faults("pay" + string(r) + "roll"); n != 2 {
			t.Errorf("%U: %d faults, want one each in name and memo", r, n)
		}
	}
	for _, good := range []string{"R&D", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\U0001f469\u200d\U0001f4bb", "\u05e9\u05dc\u05d5\u05dd", "\u2065"} {
		if n := faults(good); n != 0 {
			t.Errorf("%q: %d faults, want none", good, n)
		}
	}
}

// FuzzDecode: whatever is accepted re-encodes to the same meaning, and the members it is made of are all there.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"from_account":"acct_x","amount":12550,"memo":"\ud83d\ude00"}`, `{"a":{"b":[1,2,{"c":null}]}}`, `{"a":1,"a":2}`, `{"a":"\ud800"}`, `{} {}`, `[`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := parseObject(body)
		if err != nil {
			if len(faultsOf(t, err)) == 0 {
				t.Errorf("%q: refused without a fault", body)
			}
			return
		}
		checkSameMeaning(t, body, got)
		again := encoding(t, got)
		if _, err := parseObject(again); err != nil {
			t.Errorf("%q is accepted and its own encoding %q is not: %v", body, again, err)
		}
	})
}

// BenchmarkReadOrder is the reading of a transfer's body, without the network.
func BenchmarkReadOrder(b *testing.B) {
	body := `{"from_account":"acct_06h2jnfojpqrhck6k0nor8pn5s","to_account":"acct_06h2jnfojpqrhck6k0nor8pn6s",` +
		`"amount":12550,"currency":"NGN","memo":"Rent for December"}`
	text := strings.NewReader(body)
	r := httptest.NewRequest("POST", "/transfers", text)
	r.Header.Set("Content-Type", "application/json")
	b.ReportAllocs()
	for b.Loop() {
		text.Reset(body)
		if _, err := readOrder(r); err != nil {
			b.Fatal(err)
		}
	}
}
