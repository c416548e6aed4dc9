package auth

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// NIST SP 800-63B-4, 3.1.1.2: the length of a password that is the only factor, in code points.
const (
	minPassword = 15
	maxPassword = 128

	maxPasswordBytes = 4096 // before normalising: longer is refused unread
)

// normalizePassword makes the same key strokes the same password on every keyboard.
func normalizePassword(password string) string {
	if len(password) > maxPasswordBytes {
		return "" // nobody's password
	}
	return norm.NFKC.String(password)
}

// checkPassword judges a new password in plain form for the user with a normalised address. There are no rules about
// classes of characters: length and not being guessable is what counts.
func checkPassword(plain, email string) error {
	if len(plain) > maxPasswordBytes {
		return &WeakPasswordError{Reason: "is longer than 128 characters"}
	}
	if !utf8.ValidString(plain) {
		return &WeakPasswordError{Reason: "is not valid UTF-8"}
	}
	password := []rune(normalizePassword(plain))
	switch {
	case len(password) < minPassword:
		return &WeakPasswordError{Reason: "is shorter than 15 characters"}
	case len(password) > maxPassword:
		return &WeakPasswordError{Reason: "is longer than 128 characters"}
	}
	lower := strings.ToLower(string(password))
	local, _, _ := strings.Cut(email, "@")
	switch {
	case lower == email:
		return &WeakPasswordError{Reason: "is the e-mail address"}
	case repeats(password) || counts(password) || strung(lower, local):
		return &WeakPasswordError{Reason: "is among the first that are guessed"}
	}
	return nil
}

// repeats reports whether one unit makes up the password at least three times: "abcdeabcdeabcde".
func repeats(password []rune) bool {
	for unit := 1; unit <= len(password)/3; unit++ {
		if slices.Equal(password[unit:], password[:len(password)-unit]) {
			return true
		}
	}
	return false
}

// counts reports whether the password only goes up or down the alphabet: "abcdefghijklmnop".
func counts(password []rune) bool {
	step := password[1] - password[0]
	for i := 1; i < len(password); i++ {
		if password[i]-password[i-1] != step {
			return false
		}
	}
	return step == 1 || step == -1
}

// strung reports whether a lower-case password is a common one, or two strung together ("password12345678"), where the
// user's own name counts as common.
func strung(password, name string) bool {
	if isCommon(password) {
		return true
	}
	known := func(s string) bool { return s == name || isCommon(s) }
	for cut := range password {
		if known(password[:cut]) && known(password[cut:]) {
			return true
		}
	}
	return false
}

// commonText holds 19,400 passwords in lower case, sorted, four characters or longer: the list that ships with Django
// (compiled by Royce Williams from public breaches), and the bank's own name.
//
//go:embed commonpasswords.txt
var commonText string

var commonPasswords = sync.OnceValue(func() []string { return strings.Fields(commonText) })

func isCommon(lower string) bool {
	_, found := slices.BinarySearch(commonPasswords(), lower)
	return found
}
