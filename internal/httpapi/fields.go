package httpapi

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// fields takes the members of a body one by one and collects every fault, so that a client learns all of them at once.
type fields struct {
	members object
	faults  []Fault
}

// readFields reads the body. What is wrong with single members comes out of [fields.err].
func readFields(r *http.Request) (*fields, error) {
	members, err := readObject(r)
	return &fields{members: members}, err
}

func (f *fields) fault(name, detail string) {
	f.faults = append(f.faults, Fault{Pointer: pointer(name), Detail: detail})
}

// take removes a member, so that what is left at the end is unknown.
func (f *fields) take(name string) (jsontext.Value, bool) {
	i := f.members.index(name)
	if i < 0 {
		return nil, false
	}
	raw, last := f.members[i].raw, len(f.members)-1
	f.members[i] = f.members[last]
	f.members = f.members[:last]
	return raw, true
}

// err is every fault of the body: those found so far, then the members nobody asked for.
func (f *fields) err() error {
	slices.SortFunc(f.members, func(a, b member) int { return bytes.Compare(a.name, b.name) })
	for _, m := range f.members {
		f.fault(string(m.name), "There is no such member.")
	}
	if len(f.faults) == 0 {
		return nil
	}
	return invalid(f.faults[:min(len(f.faults), maxFaults)]...)
}

// maxFaults bounds the answer to a body made of nothing but faults.
const maxFaults = 32

// required reports whether a member is there, and notes the fault if it is not.
func (f *fields) required(name string) bool {
	there := f.members.index(name) >= 0
	if !there {
		f.fault(name, "The member is missing.")
	}
	return there
}

// text takes a required string of 1 to most characters, without control characters.
func (f *fields) text(name string, most int) string {
	if !f.required(name) {
		return ""
	}
	s, ok := f.any(name, most)
	if ok && s == "" {
		f.fault(name, "Must not be empty.")
	}
	f.printable(name, s)
	return s
}

// optionalText is text for a member that may be absent or empty.
func (f *fields) optionalText(name string, most int) string {
	s, _ := f.any(name, most)
	f.printable(name, s)
	return s
}

// secret takes a required string that may hold any character: a password is the user's own business.
func (f *fields) secret(name string, most int) string {
	if !f.required(name) {
		return ""
	}
	s, _ := f.any(name, most)
	return s
}

// any takes a string of at most most characters; absent, it is empty. ok is false if a fault was noted.
func (f *fields) any(name string, most int) (s string, ok bool) {
	raw, there := f.take(name)
	if !there {
		return "", true
	}
	if raw.Kind() != '"' {
		f.fault(name, "Must be a string.")
		return "", false
	}
	text, _ := unquote(raw)
	s = string(text)
	if utf8.RuneCountInString(s) > most {
		f.fault(name, fmt.Sprintf("Must have at most %d characters.", most))
		return "", false
	}
	return s, true
}

func (f *fields) printable(name, s string) {
	if strings.ContainsFunc(s, isControl) {
		f.fault(name, "Must not contain control characters.")
	}
}

// isControl also finds the characters that turn the direction of the text around them: with these a name can be made to
// look like another. The joiners, which scripts and emoji need, are none.
func isControl(r rune) bool {
	return unicode.IsControl(r) || 0x202a <= r && r <= 0x202e || 0x2066 <= r && r <= 0x2069
}

// maxAmount is the largest amount of one transfer in minor units.
const maxAmount = 1_000_000_000_000

// amount takes minor units: a JSON number written as a whole number from 1 to 10^12, without sign, point or exponent.
// Nothing is rounded.
func (f *fields) amount(name string) int64 {
	if !f.required(name) {
		return 0
	}
	raw, _ := f.take(name)
	n, err := strconv.ParseInt(string(raw), 10, 64) // of JSON it takes whole numbers only
	if err != nil || n < 1 || n > maxAmount {
		f.fault(name, fmt.Sprintf("Must be a whole number of minor units from 1 to %d, written as digits only.", int64(maxAmount)))
		return 0
	}
	return n
}

// currency takes a code of three capital letters. Whether the bank has it is not judged here.
func (f *fields) currency(name string) string {
	s := f.text(name, 64)
	if s != "" && !isCurrencyCode(s) {
		f.fault(name, "Must be a currency code of three capital letters, such as NGN.")
	}
	return s
}

func isCurrencyCode(s string) bool {
	return len(s) == 3 && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}
