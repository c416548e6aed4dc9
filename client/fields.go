package client

import (
	"encoding/base64"
	"strconv"
	"strings"
	"time"
)

// member is one member of a Structured Field List (RFC 9651) of Strings with parameters, which is all that the RateLimit
// fields are: "user";q=10;w=5. A parameter is an int64, a string, or something else that nobody here reads.
type member struct {
	name   string
	params map[string]any
}

// number is a parameter that must be there: a whole number, not negative.
func (m member) number(key string) (int64, bool) {
	n, ok := m.params[key].(int64)
	return n, ok && n >= 0
}

// seconds is a parameter that may be missing: whole seconds, saturating. What is there and no number is negative.
func (m member) seconds(key string) (d time.Duration, unsaid bool) {
	v, there := m.params[key]
	if !there {
		return 0, true
	}
	n, ok := v.(int64)
	if !ok || n < 0 {
		return -1, false
	}
	return wholeSeconds(strconv.FormatInt(n, 10)), false
}

// text is a parameter that may be missing.
func (m member) text(key, unsaid string) (string, bool) {
	v, there := m.params[key]
	if !there {
		return unsaid, true
	}
	s, ok := v.(string)
	return s, ok
}

// members parses a field, all lines of it. One fault anywhere voids the field.
func members(lines []string) []member {
	p := parser{strings.Trim(strings.Join(lines, ","), " ")}
	var all []member
	for p.rest != "" {
		name, ok := p.quoted()
		if !ok {
			return nil
		}
		params, ok := p.parameters()
		if !ok {
			return nil
		}
		all = append(all, member{name, params})
		p.skip(" \t")
		if p.rest == "" {
			return all
		}
		if !p.accept(',') {
			return nil
		}
		p.skip(" \t")
	}
	return nil // nothing, or a comma at the end
}

// parser takes things off the front of rest.
type parser struct {
	rest string
}

func (p *parser) accept(c byte) bool {
	if p.rest == "" || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

func (p *parser) skip(set string) { p.rest = strings.TrimLeft(p.rest, set) }

// span takes the longest start that consists of bytes for which in holds.
func (p *parser) span(in func(c byte) bool) string {
	n := 0
	for n < len(p.rest) && in(p.rest[n]) {
		n++
	}
	start := p.rest[:n]
	p.rest = p.rest[n:]
	return start
}

func (p *parser) parameters() (map[string]any, bool) {
	params := map[string]any{}
	for p.accept(';') {
		p.skip(" ")
		key := p.span(inKey)
		if key == "" || key[0] != '*' && !lower(key[0]) {
			return nil, false
		}
		var value any = true
		if p.accept('=') {
			var ok bool
			if value, ok = p.bareItem(); !ok {
				return nil, false
			}
		}
		params[key] = value // the last one counts
	}
	return params, true
}

// bareItem is a value of any type that RFC 9651 knows.
func (p *parser) bareItem() (any, bool) {
	if p.rest == "" {
		return nil, false
	}
	switch c := p.rest[0]; {
	case c == '"':
		return p.quoted()
	case c == '-' || digit(c):
		return p.numeral()
	case c == '*' || letter(c):
		return struct{ token string }{p.span(inToken)}, true
	}
	first := p.rest[0]
	p.rest = p.rest[1:]
	switch first {
	case '?':
		flag := p.span(digit)
		return flag == "1", flag == "0" || flag == "1"
	case ':':
		return p.bytes()
	case '@':
		date, ok := p.numeral()
		_, whole := date.(int64)
		return struct{ date any }{date}, ok && whole
	case '%':
		return p.displayed()
	}
	return nil, false
}

// quoted is a String: printable ASCII, in which a backslash stands before a backslash or a quotation mark.
func (p *parser) quoted() (string, bool) {
	if !p.accept('"') {
		return "", false
	}
	var text strings.Builder
	for i := 0; i < len(p.rest); i++ {
		switch c := p.rest[i]; {
		case c == '"':
			p.rest = p.rest[i+1:]
			return text.String(), true
		case c == '\\':
			if i++; i == len(p.rest) || p.rest[i] != '"' && p.rest[i] != '\\' {
				return "", false
			}
			text.WriteByte(p.rest[i])
		case c < ' ' || c > '~':
			return "", false
		default:
			text.WriteByte(c)
		}
	}
	return "", false
}

// numeral is an Integer of at most 15 digits, or a Decimal of at most 12 and 3.
func (p *parser) numeral() (any, bool) {
	negative := p.accept('-')
	whole := p.span(digit)
	if p.accept('.') {
		part := p.span(digit)
		return struct{ decimal string }{whole + "." + part}, len(whole) >= 1 && len(whole) <= 12 && len(part) >= 1 && len(part) <= 3
	}
	if len(whole) < 1 || len(whole) > 15 {
		return nil, false
	}
	n, err := strconv.ParseInt(whole, 10, 64)
	if negative {
		n = -n
	}
	return n, err == nil
}

// bytes is the rest of a Byte Sequence, base64 up to a colon.
func (p *parser) bytes() (any, bool) {
	text, rest, closed := strings.Cut(p.rest, ":")
	p.rest = rest
	content, err := base64.StdEncoding.DecodeString(text)
	return content, closed && err == nil && !strings.ContainsAny(text, "\r\n")
}

// displayed is the rest of a Display String: "f%c3%bc".
func (p *parser) displayed() (any, bool) {
	text, ok := p.quoted()
	for i := range len(text) {
		if text[i] == '%' && (i+2 >= len(text) || !lowerHex(text[i+1]) || !lowerHex(text[i+2])) {
			return nil, false
		}
	}
	return struct{ display string }{text}, ok
}

func digit(c byte) bool    { return '0' <= c && c <= '9' }
func lower(c byte) bool    { return 'a' <= c && c <= 'z' }
func letter(c byte) bool   { return lower(c | 0x20) }
func lowerHex(c byte) bool { return digit(c) || 'a' <= c && c <= 'f' }
func inKey(c byte) bool    { return lower(c) || digit(c) || strings.IndexByte("_-.*", c) >= 0 }
func inToken(c byte) bool {
	return letter(c) || digit(c) || strings.IndexByte(":/!#$%&'*+-.^_`|~", c) >= 0
}
