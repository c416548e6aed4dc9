package auth

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCheckPassword(t *testing.T) {
	t.Parallel()
	accepted := []string{
		password, "fifteen-letters", "               x", "no rules about classes of characters", strings.Repeat("correct horse 7", 2)[:29] + "!",
		"ひらがなだけでもよいですよね", "ひらがなだけでもよいのですよね", strings.Repeat("ab7", 42)[:126] + "zz", "🐎🔋📎✅🐎🔋📎✅x🐎🔋📎✅y",
	}
	for _, p := range accepted {
		err := checkPassword(p, "ada@example.com")
		if short := utf8.RuneCountInString(p) < minPassword; (err != nil) != short {
			t.Errorf("checkPassword(%q) = %v", p, err)
		}
	}
	const tooShort, tooLong, first = "is shorter than 15 characters", "is longer than 128 characters", "is among the first that are guessed"
	refused := map[string]string{
		"":                                 tooShort,
		"fourteen chars":                   tooShort,
		"ﬃﬃﬃﬃx":                            tooShort, // 13 in plain letters
		strings.Repeat("é", 14):            tooShort, // 28 bytes
		strings.Repeat("abcdefgh7", 15):    tooLong,
		strings.Repeat("ﷺ", 10):            tooLong, // 180 in plain letters
		strings.Repeat("x", 5000):          tooLong,
		"fifteen letters\xff":              "is not valid UTF-8",
		"ada.lovelace@Example.com":         "is the e-mail address",
		"aaaaaaaaaaaaaaa":                  first,
		"abcabcabcabcabc":                  first,
		"abcdefghijklmnop":                 first,
		"ponmlkjihgfedcba":                 first,
		"PASSWORDpassword":                 first,
		"password12345678":                 first,
		"qwertyuiopasdfghjkl":              first,
		"1q2w3e4r5t6y7u8i":                 first,
		"ada.lovelace12345678":             first,
		"bankapipassword1":                 first,
		"correcthorsebatterystaple":        first,
		"ｐａｓｓｗｏｒｄ12345678":                 first,
		strings.Repeat(password+" ", 3):    first,
		strings.Repeat(" ", 20):            first,
		strings.Repeat("пароль", 3):        first,
		strings.Repeat("1234567890", 2):    first,
		strings.Repeat("Iloveyou", 2):      first,
		strings.ToUpper("qazwsxedcrfvtgb"): first,
	}
	for p, reason := range refused {
		err := checkPassword(p, "ada.lovelace@example.com")
		weak, ok := errors.AsType[*WeakPasswordError](err)
		if !ok || weak.Reason != reason || !errors.Is(err, ErrWeakPassword) {
			t.Errorf("checkPassword(%.40q) = %v, want %q", p, err, reason)
		}
		if p != "" && err != nil && strings.Contains(err.Error(), p) {
			t.Errorf("the error quotes the password: %v", err)
		}
	}
}

func TestCommonPasswordsAreSortedForSearch(t *testing.T) {
	t.Parallel()
	list := commonPasswords()
	if len(list) < 19_000 || !slices.IsSorted(list) {
		t.Errorf("%d passwords, sorted: %v", len(list), slices.IsSorted(list))
	}
	for _, p := range []string{"password", "qwerty123456789", "12345678987654321", list[0], list[len(list)-1]} {
		if !isCommon(p) {
			t.Errorf("%q is not found", p)
		}
	}
}

// Whatever is accepted is in bounds, and is accepted in every equivalent spelling of it.
func FuzzCheckPassword(f *testing.F) {
	f.Add(password, "ada@example.com")
	f.Add("Zoe\u0308 rides a wild horse", "zoe@example.com")
	f.Fuzz(func(t *testing.T, p, email string) {
		if checkPassword(p, email) != nil {
			return
		}
		plain := normalizePassword(p)
		if n := utf8.RuneCountInString(plain); n < 15 || n > 128 || strings.EqualFold(plain, email) && plain == strings.ToLower(email) {
			t.Errorf("accepted %q of %d characters for %q", p, n, email)
		}
		if err := checkPassword(plain, email); err != nil || normalizePassword(plain) != plain {
			t.Errorf("%q is accepted, but its plain form %q: %v", p, plain, err)
		}
	})
}
