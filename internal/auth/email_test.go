package auth

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestNormalizeEmail(t *testing.T) {
	t.Parallel()
	accepted := map[string]string{
		"ada@example.com":                   "ada@example.com",
		"  Ada@Example.COM\t\r\n":           "ada@example.com",
		"ＡＤＡ＠example．com":                   "ada@example.com",
		"a.b+tag@sub.example.co":            "a.b+tag@sub.example.co",
		"o'brien!#$%&*/=?^_`{|}~-@ex-a.com": "o'brien!#$%&*/=?^_`{|}~-@ex-a.com",
		"jose\u0301@example.com":            "jos\u00e9@example.com",
		"JOSE\u0301@example.com":            "jos\u00e9@example.com",
		"用户@例子.广告":                          "用户@例子.广告",
		strings.Repeat("a", 64) + "@b.cd":   strings.Repeat("a", 64) + "@b.cd",
	}
	for in, want := range accepted {
		if got, err := NormalizeEmail(in); err != nil || got != want {
			t.Errorf("NormalizeEmail(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
	refused := []string{
		"", " ", "@", "ada", "ada@", "@example.com", "ada@example", "ada@@example.com", "ada@b@example.com",
		"a da@example.com", "ada@exa mple.com", "ada\x00@example.com", "ada\n@example.com", "ada\u200b@example.com",
		"ada\u00a0b@example.com", "ada\u202e@example.com", "\xffada@example.com", ".ada@example.com", "ada.@example.com",
		"a..da@example.com", `"ada"@example.com`, "ada@[127.0.0.1]", "<ada@example.com>", "Ada <ada@example.com>",
		"ada@example..com", "ada@.com", "ada@example.com.", "ada@-example.com", "ada@example-.com", "ada@exa_mple.com",
		strings.Repeat("a", 65) + "@b.cd", "a@" + strings.Repeat("b", 64) + ".cd", "a@" + strings.Repeat("b.", 130) + "cd",
		strings.Repeat("a", 1<<20),
	}
	for _, in := range refused {
		if got, err := NormalizeEmail(in); err != ErrInvalidEmail { //nolint:errorlint // exactly this error
			t.Errorf("NormalizeEmail(%.40q) = %q, %v; want ErrInvalidEmail", in, got, err)
		}
	}
}

// An address that was accepted stands for itself: limits and look-ups that normalise it again hit the same key.
func FuzzNormalizeEmail(f *testing.F) {
	for _, seed := range []string{"Ada@Example.com", "İ@K.ſs", "Ǆ\u0301@ΐ.Σς", "ᾼ@ẞ.ŉ", "\u0345A@b.c", "\u1e9b\u0323@a.b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		once, err := NormalizeEmail(in)
		if err != nil {
			return
		}
		if twice, err := NormalizeEmail(once); err != nil || twice != once {
			t.Errorf("%q became %q, and that %q, %v", in, once, twice, err)
		}
		if len(once) > maxEmail || !utf8.ValidString(once) || strings.ContainsAny(once, " \x00\r\n\t,<>") || strings.Count(once, "@") != 1 {
			t.Errorf("%q became %q", in, once)
		}
	})
}
