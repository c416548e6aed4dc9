package httpapi

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Problem is one answer that is not a success. As an error it carries what a row of the table cannot: the faults of this
// body, the policies that refused this request.
type Problem struct {
	Type     *ProblemType
	Detail   string
	Faults   []Fault  // "errors"
	Violated []string // "violated-policies"
}

// Fault is one thing wrong with a request: in the body at Pointer (RFC 6901, as a fragment), or in the Parameter of a
// path, query or header.
type Fault struct {
	Detail    string
	Pointer   string
	Parameter string
}

func (p *Problem) Error() string {
	parts := []string{p.Type.Title}
	for _, f := range p.Faults {
		parts = append(parts, strings.TrimSpace(f.Pointer+f.Parameter+" "+f.Detail))
	}
	return strings.Join(parts, "; ")
}

var problemJSON = []string{"application/problem+json"}

// write sends the problem. Headers that the layers above have set (limits, CORS, request id) stay.
func (p Problem) write(w http.ResponseWriter, instance, requestID string) {
	h := w.Header()
	body := p.append(make([]byte, 0, 512), instance, requestID)
	h["Content-Type"] = problemJSON
	setHeader(h, "Content-Length", strconv.Itoa(len(body)))
	if p.Type.Challenge != "" {
		setHeader(h, "Www-Authenticate", p.Type.Challenge)
	}
	if p.Type.RetryAfter > 0 && h["Retry-After"] == nil {
		setHeader(h, "Retry-After", strconv.Itoa(p.Type.RetryAfter))
	}
	w.WriteHeader(p.Type.Status)
	_, _ = w.Write(body)
}

// append encodes the problem without reflection: refused requests take this path under a flood.
func (p Problem) append(b []byte, instance, requestID string) []byte {
	b = appendMember(append(b, '{'), "type", p.Type.URI)
	b = appendMember(append(b, ','), "title", p.Type.Title)
	b = append(b, `,"status":`...)
	b = strconv.AppendInt(b, int64(p.Type.Status), 10)
	b = appendOptional(b, "detail", p.Detail)
	b = appendOptional(b, "instance", instance)
	b = appendOptional(b, "request_id", requestID)
	b = append(b, `,"retryable":`...)
	b = strconv.AppendBool(b, p.Type.Retryable)
	b = appendViolated(b, p.Violated)
	return append(appendFaults(b, p.Faults), "}\n"...)
}

func appendViolated(b []byte, policies []string) []byte {
	if len(policies) == 0 {
		return b
	}
	b = append(b, `,"violated-policies":[`...)
	for i, name := range policies {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendJSONString(b, name)
	}
	return append(b, ']')
}

func appendFaults(b []byte, faults []Fault) []byte {
	if len(faults) == 0 {
		return b
	}
	b = append(b, `,"errors":[`...)
	for i, f := range faults {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendMember(append(b, '{'), "detail", f.Detail)
		b = appendOptional(b, "pointer", f.Pointer)
		b = append(appendOptional(b, "parameter", f.Parameter), '}')
	}
	return append(b, ']')
}

func appendOptional(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	return appendMember(append(b, ','), name, value)
}

func appendMember(b []byte, name, value string) []byte {
	return appendJSONString(append(append(append(b, '"'), name...), `":`...), value)
}

// appendJSONString appends s as a JSON string. What is not UTF-8 becomes U+FFFD.
func appendJSONString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r < ' ' || r == 0x7f:
			b = append(b, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}

// setHeader is http.Header.Set for a name that is already in its canonical form.
func setHeader(h http.Header, canonical, value string) {
	h[canonical] = []string{value}
}

// maxInstance keeps a client's endless path from being echoed.
const maxInstance = 256

// instanceOf is the member "instance": the path as it was asked for.
func instanceOf(u *url.URL) string {
	path := u.EscapedPath()
	if len(path) > maxInstance {
		return ""
	}
	return path
}
