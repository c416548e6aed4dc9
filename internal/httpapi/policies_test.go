package httpapi_test

import (
	"strings"
	"testing"

	"example.com/bankapi/internal/httpapi"
	"example.com/bankapi/internal/ratelimit/policyfile"
)

// limits is the built-in policy file with texts replaced: old, new, old, new...
func limits(t testing.TB, replace ...string) *policyfile.Live {
	t.Helper()
	text := string(policyfile.DefaultFile())
	for i := 0; i+1 < len(replace); i += 2 {
		if strings.Count(text, replace[i]) != 1 {
			t.Fatalf("%q stands %d times in the built-in file", replace[i], strings.Count(text, replace[i]))
		}
		text = strings.Replace(text, replace[i], replace[i+1], 1)
	}
	l, err := policyfile.Parse([]byte(text), httpapi.Routes())
	if err != nil {
		t.Fatal(err)
	}
	return policyfile.NewLive(l)
}

func TestTheBuiltInFileFitsTheRouter(t *testing.T) {
	t.Parallel()
	if _, err := policyfile.Open("", httpapi.Routes()); err != nil {
		t.Error(err)
	}
}
