package auth

import (
	"errors"
	"net/http"
	"testing"
)

func TestBearerToken(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		lines []string
		token string
		want  error
	}{
		{"none", nil, "", ErrNoCredentials},
		{"empty", []string{""}, "", ErrNoCredentials},
		{"usual", []string{"Bearer abc"}, "abc", nil},
		{"lower case", []string{"bearer abc"}, "abc", nil},
		{"upper case", []string{"BEARER abc"}, "abc", nil},
		{"several spaces", []string{" Bearer   abc "}, "abc", nil},
		{"all of token68", []string{"Bearer aZ09-._~+/=="}, "aZ09-._~+/==", nil},
		{"other scheme", []string{"Basic YWRhOng="}, "", ErrNoCredentials},
		{"scheme alone", []string{"Bearer"}, "", ErrMalformedCredentials},
		{"scheme and space", []string{"Bearer "}, "", ErrMalformedCredentials},
		{"scheme runs on", []string{"Bearerabc"}, "", ErrNoCredentials},
		{"only padding", []string{"Bearer =="}, "", ErrMalformedCredentials},
		{"padding inside", []string{"Bearer a=b"}, "", ErrMalformedCredentials},
		{"two tokens", []string{"Bearer abc def"}, "", ErrMalformedCredentials},
		{"a list", []string{"Bearer abc, Bearer def"}, "", ErrMalformedCredentials},
		{"quoted", []string{`Bearer "abc"`}, "", ErrMalformedCredentials},
		{"not ASCII", []string{"Bearer äbc"}, "", ErrMalformedCredentials},
		{"NUL", []string{"Bearer a\x00c"}, "", ErrMalformedCredentials},
		{"two lines", []string{"Bearer abc", "Bearer def"}, "", ErrTwoCredentials},
		{"two equal lines", []string{"Bearer abc", "Bearer abc"}, "", ErrTwoCredentials},
		{"two schemes", []string{"Basic YWRhOng=", "Bearer abc"}, "", ErrTwoCredentials},
	}
	for _, tt := range tests {
		got, err := BearerToken(http.Header{"Authorization": tt.lines})
		if got != tt.token || !errors.Is(err, tt.want) {
			t.Errorf("%s: BearerToken(%q) = %q, %v; want %q, %v", tt.name, tt.lines, got, err, tt.token, tt.want)
		}
	}
}
