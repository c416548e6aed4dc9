package openapitest

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// The tests of this file break a good answer of each kind in one way at a time: the check must see it.

func (e exchange) mustFail(t *testing.T, mutation string) {
	t.Helper()
	if len(e.faults()) == 0 {
		t.Errorf("not caught: %s", mutation)
	}
}

func TestCatchesAMissingHeader(t *testing.T) {
	t.Parallel()
	optional := []string{"Link", "Idempotent-Replayed"}
	eachGoodAnswer(t, func(t *testing.T, good func() exchange) {
		for _, name := range slices.Sorted(maps.Keys(good().header)) {
			e := good()
			e.header.Del(name)
			unlimited := strings.Contains(name, "limit") && e.status >= 500 // before the limits
			if !slices.Contains(optional, name) && !unlimited && !(name == "Www-Authenticate" && e.status == 400) {
				e.mustFail(t, "without "+name)
			}
		}
	})
}

func TestCatchesAMalformedHeader(t *testing.T) {
	t.Parallel()
	eachGoodAnswer(t, func(t *testing.T, good func() exchange) {
		for _, name := range slices.Sorted(maps.Keys(good().header)) {
			for _, value := range []string{"", "!", "-1", "1.5", "+3", "0x1f", "007 "} {
				e := good()
				e.header.Set(name, value)
				e.mustFail(t, name+": "+value)
			}
			if name != "Content-Type" {
				e := good()
				e.header.Add(name, e.header.Get(name))
				e.mustFail(t, name+" twice")
			}
		}
	})
}

func TestCatchesAHeaderOfOtherAnswers(t *testing.T) {
	t.Parallel()
	eachGoodAnswer(t, func(t *testing.T, good func() exchange) {
		for name := range contract().headers {
			if e := good(); e.header.Get(name) == "" && !strings.HasPrefix(name, cors) {
				e.header.Set(name, "3")
				e.mustFail(t, "with "+name)
			}
		}
	})
}

func TestCatchesARateLimitOutOfForm(t *testing.T) {
	t.Parallel()
	for _, value := range []string{
		`user;r=5;t=3`, `"user";r=5`, `"user";t=3;r=5`, `"user";r=-1;t=3`, `"user";r=5;t=0`, `"User";r=5;t=3`, `"user";r=5.0;t=3`,
		`"user";r=5;t=3,`, `"user";r=5;t=3,"ip";r=1;t=1`, `"user"; r=5; t=3`, `"user";r=1234567890123456;t=3`,
	} {
		e := goodExchange(contract(), operation{"GET", "/me", "/paths/~1me/get"}, "200")
		e.header.Set("RateLimit", value)
		e.mustFail(t, value)
	}
}

func TestCatchesAnUnlistedStatus(t *testing.T) {
	t.Parallel()
	eachGood(t, func(t *testing.T, good func() exchange) {
		for _, status := range []int{203, 206, 302, 402, 418, 502} {
			e := good()
			e.status = status
			e.mustFail(t, http.StatusText(status))
		}
	})
}

func TestCatchesAProblemWithTheWrongStatus(t *testing.T) {
	t.Parallel()
	eachGood(t, func(t *testing.T, good func() exchange) {
		for _, status := range []int{400, 401, 403, 404, 409, 422, 429, 500, 503} {
			if e := good(); e.status != status {
				e.status = status
				e.mustFail(t, http.StatusText(status))
			}
		}
	})
}

func TestCatchesAWrongContentType(t *testing.T) {
	t.Parallel()
	eachGoodAnswer(t, func(t *testing.T, good func() exchange) {
		for _, value := range []string{"text/plain", "application/xml", "application/json; charset=latin1"} {
			e := good()
			e.header.Set("Content-Type", value)
			e.mustFail(t, value)
		}
		if e := good(); e.header.Get("Content-Type") == "application/problem+json" {
			e.header.Set("Content-Type", "application/json")
			e.mustFail(t, "a problem that says it is JSON and no more")
		}
	})
}

func eachGoodJSON(t *testing.T, f func(t *testing.T, good func() exchange)) {
	eachGoodAnswer(t, func(t *testing.T, good func() exchange) {
		if isJSON(good().header.Get("Content-Type")) {
			f(t, good)
		}
	})
}

func TestCatchesAMemberNobodyNamed(t *testing.T) {
	t.Parallel()
	eachMutatedBody(t, func(_ string, value any) (any, bool) {
		members, ok := value.(map[string]any)
		if !ok {
			return nil, false
		}
		more := maps.Clone(members)
		more["surprise"] = 1
		return more, true
	})
}

func TestCatchesAMissingMember(t *testing.T) {
	t.Parallel()
	optional := []string{"detail", "instance", "transfer_id", "pointer", "parameter", "EUR", "USD", "violated-policies", ""}
	eachMutatedBody(t, func(name string, _ any) (any, bool) { return nil, !slices.Contains(optional, name) })
}

func TestCatchesARefusalThatNamesNoPolicy(t *testing.T) {
	t.Parallel()
	e := goodExchange(contract(), operation{"GET", "/me", "/paths/~1me/get"}, "429")
	e.body = []byte(strings.Replace(string(e.body), `,"violated-policies":["user"]`, "", 1))
	e.mustFail(t, string(e.body))
}

func TestCatchesAMemberOfAnotherType(t *testing.T) {
	t.Parallel()
	eachMutatedBody(t, func(_ string, value any) (any, bool) {
		if _, ok := value.(string); ok {
			return 7, true
		}
		return "seven", true
	})
}

func TestCatchesAnIntegerWithAFraction(t *testing.T) {
	t.Parallel()
	eachMutatedBody(t, func(name string, value any) (any, bool) {
		number, ok := value.(float64)
		return number + 0.5, ok && name != "refill_per_second"
	})
}

func TestCatchesABadTime(t *testing.T) {
	t.Parallel()
	times := []string{"created_at", "expires_at", "as_of"}
	for _, bad := range []string{
		"", "yesterday", "2026-09-24", "2026-13-24T12:00:00Z", "2026-02-30T12:00:00Z", "2026-09-24T25:00:00Z",
		"2026-09-24 12:00:00Z", "2026-09-24T12:00:00", "2026-09-24T12:00:00+01:00", "2026-09-24T12:00:00.Z",
	} {
		eachMutatedBody(t, func(name string, _ any) (any, bool) { return bad, slices.Contains(times, name) })
	}
}

func TestCatchesABadID(t *testing.T) {
	t.Parallel()
	ids := []string{"id", "transfer_id", "request_id", "from_account", "to_account", "counterparty"}
	eachMutatedBody(t, func(name string, value any) (any, bool) {
		id, ok := value.(string)
		return id + "0", ok && slices.Contains(ids, name)
	})
}

func eachMutatedBody(t *testing.T, change func(name string, value any) (any, bool)) {
	count := 0
	eachGoodJSON(t, func(t *testing.T, good func() exchange) {
		for at, body := range bodies(t, good().body, change) {
			count++
			e := good()
			e.body = body
			e.mustFail(t, at+" in "+string(body))
		}
	})
	if count == 0 {
		t.Error("nothing was changed")
	}
}

func TestCatchesABrokenBody(t *testing.T) {
	t.Parallel()
	eachGoodAnswer(t, func(t *testing.T, good func() exchange) {
		e := good()
		e.body = append(e.body, 0xff)
		if e.header.Get("Content-Type") != "image/png" {
			e.mustFail(t, "a byte that is no UTF-8")
		}
	})
	eachGoodJSON(t, func(t *testing.T, good func() exchange) {
		for _, body := range []string{"", "null", "[]", "{}", "{", string(good().body) + "{}"} {
			e := good()
			e.body = []byte(body)
			e.mustFail(t, body)
		}
	})
}

func TestCatchesASuccessThatTheDocumentForbids(t *testing.T) {
	t.Parallel()
	transfer := func() exchange {
		return goodExchange(contract(), operation{"POST", "/transfers", "/paths/~1transfers/post"}, "201")
	}
	for name, change := range map[string]func(req *http.Request){
		"no key":               func(req *http.Request) { req.Header.Del("Idempotency-Key") },
		"two keys":             func(req *http.Request) { req.Header.Add("Idempotency-Key", "other") },
		"a malformed key":      func(req *http.Request) { req.Header.Set("Idempotency-Key", "a,b") },
		"an unknown parameter": func(req *http.Request) { req.URL = &url.URL{Path: "/transfers", RawQuery: "dry_run=1"} },
		"another content type": func(req *http.Request) { req.Header.Set("Content-Type", "text/plain") },
		"amount as a string":   func(req *http.Request) { replaceBody(t, req, "12550", `"12550"`) },
		"no amount":            func(req *http.Request) { replaceBody(t, req, `"amount":12550,`, "") },
		"an unknown member":    func(req *http.Request) { replaceBody(t, req, "{", `{"fee":0,`) },
	} {
		e := transfer()
		change(e.req)
		e.mustFail(t, name)
	}
}

func TestCatchesARouteThatIsNotThere(t *testing.T) {
	t.Parallel()
	doc := contract()
	outsider := func(method, path, response, allow string, status int) exchange {
		e := goodExchange(doc, operation{"GET", "/me", "/paths/~1me/get"}, "200")
		e.status = status
		e.req.Method, e.req.URL = method, &url.URL{Path: path}
		e.header.Set("Content-Type", "application/problem+json")
		e.body = goodBody(doc, join("/components/responses", response, "content", "application/problem+json"))
		if allow != "" {
			e.header.Set("Allow", allow)
		}
		return e
	}
	for _, good := range []exchange{
		outsider("GET", "/nothing", "RouteNotFound", "", 404),
		outsider("PUT", "/me", "MethodNotAllowed", "GET, HEAD", 405),
	} {
		for _, fault := range good.faults() {
			t.Error(fault)
		}
	}
	outsider("PUT", "/me", "RouteNotFound", "", 404).mustFail(t, "404 where there is something")
	outsider("PUT", "/me", "MethodNotAllowed", "GET", 405).mustFail(t, "an incomplete Allow")
	outsider("PUT", "/me", "MethodNotAllowed", "", 405).mustFail(t, "no Allow")
	outsider("GET", "/nothing", "RouteNotFound", "", 200).mustFail(t, "a success where there is nothing")
	outsider("GET", "/nothing", "RouteNotFound", "", 204).mustFail(t, "204 to a request that is no preflight")
}

func TestExcusesMissingLimitsOnlyWhenTold(t *testing.T) {
	t.Parallel()
	e := goodExchange(contract(), operation{"GET", "/me", "/paths/~1me/get"}, "200")
	for _, name := range []string{"RateLimit", "RateLimit-Policy", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"} {
		e.header.Del(name)
	}
	e.mustFail(t, "no limit headers")
	if faults := contract().check(e.req, e.answer, []Condition{LimitsUnknown}); len(faults) > 0 {
		t.Errorf("with LimitsUnknown: %q", faults)
	}
	e.header.Set("RateLimit", "nonsense")
	if len(contract().check(e.req, e.answer, []Condition{LimitsUnknown})) == 0 {
		t.Error("not caught: a malformed RateLimit, with LimitsUnknown")
	}
}
