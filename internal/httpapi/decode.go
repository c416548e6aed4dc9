package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth is how deep objects and arrays may nest. No request of this API nests at all; the rest is for a clear answer.
const maxDepth = 16

// object is the body of a request: one JSON object, its members as they were written.
type object map[string]json.RawMessage

// readObject reads a body that must be exactly one JSON object: announced as JSON, well-formed, UTF-8, without duplicate
// names at any depth, without unpaired surrogates or U+0000 in any string, and with nothing after it.
func readObject(r *http.Request) (object, error) {
	if mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || mediaType != "application/json" {
		return nil, errNotJSON
	}
	body, err := io.ReadAll(r.Body)
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, errBodyTooLarge
	}
	if err != nil {
		return nil, malformed("", "The body could not be read to its end.")
	}
	return parseObject(body)
}

func parseObject(body []byte) (object, error) {
	switch {
	case len(bytes.Trim(body, " \t\r\n")) == 0:
		return nil, malformed("", "The body is empty.")
	case !utf8.Valid(body):
		return nil, malformed("", "The body is not UTF-8.")
	}
	w := walker{dec: json.NewDecoder(bytes.NewReader(body)), body: body}
	w.dec.UseNumber()
	members, err := w.document()
	if _, ours := errors.AsType[*Problem](err); err != nil && !ours {
		return nil, w.fault(syntaxFault(err))
	}
	return members, err
}

// walker reads a document token by token. encoding/json judges the syntax; the walker refuses what it would let pass.
type walker struct {
	dec  *json.Decoder
	body []byte
	path []string // where in the document the walker stands
}

func (w *walker) document() (object, error) {
	open, err := w.dec.Token()
	if err != nil {
		return nil, err
	}
	if open != json.Delim('{') {
		return nil, w.fault("The body must be a JSON object.")
	}
	members := object{}
	if err := w.object(func(name string, raw []byte) { members[name] = raw }); err != nil {
		return nil, err
	}
	w.path = nil
	if _, err := w.dec.Token(); !errors.Is(err, io.EOF) {
		return nil, w.fault("There is something after the JSON object.")
	}
	return members, nil
}

// object reads the members after a '{' up to and including the '}'.
func (w *walker) object(member func(name string, raw []byte)) error {
	seen := map[string]bool{}
	depth := len(w.path)
	for w.dec.More() {
		before := w.dec.InputOffset()
		token, err := w.dec.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string) // a name that is no string is a syntax error, reported above
		w.path = append(w.path[:depth], name)
		if err := w.checkString(name, before); err != nil {
			return err
		}
		if seen[name] {
			return w.fault("The member is there twice.")
		}
		seen[name] = true
		raw, err := w.value()
		if err != nil {
			return err
		}
		member(name, raw)
	}
	_, err := w.dec.Token()
	if err == nil {
		w.path = w.path[:depth]
	}
	return err
}

// array reads the elements after a '[' up to and including the ']'.
func (w *walker) array() error {
	depth := len(w.path)
	for i := 0; w.dec.More(); i++ {
		w.path = append(w.path[:depth], strconv.Itoa(i))
		if _, err := w.value(); err != nil {
			return err
		}
	}
	_, err := w.dec.Token()
	if err == nil {
		w.path = w.path[:depth]
	}
	return err
}

// value reads one value and returns its text.
func (w *walker) value() ([]byte, error) {
	if len(w.path) > maxDepth {
		return nil, w.fault("The body is nested too deeply.")
	}
	before := w.dec.InputOffset()
	token, err := w.dec.Token()
	if err != nil {
		return nil, err
	}
	start := before + int64(len(separators(w.body[before:w.dec.InputOffset()])))
	switch t := token.(type) {
	case string:
		err = w.checkString(t, before)
	case json.Delim:
		if t == '{' {
			err = w.object(func(string, []byte) {})
		} else {
			err = w.array()
		}
	}
	return w.body[start:w.dec.InputOffset()], err
}

// separators is what may stand between two tokens.
func separators(text []byte) []byte {
	return text[:len(text)-len(bytes.TrimLeft(text, " \t\r\n,:"))]
}

// checkString refuses what Go strings and PostgreSQL text cannot carry unchanged. before is where the decoder stood.
func (w *walker) checkString(s string, before int64) error {
	if strings.ContainsRune(s, 0) {
		return w.fault("The string contains U+0000.")
	}
	// encoding/json replaces an unpaired surrogate by U+FFFD. Written in full, that character is three bytes.
	if strings.Contains(s, "\ufffd") && hasLoneSurrogate(w.body[before:w.dec.InputOffset()]) {
		return w.fault("The string contains an unpaired surrogate.")
	}
	return nil
}

// hasLoneSurrogate looks at the text of a string that encoding/json has accepted.
func hasLoneSurrogate(text []byte) bool {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		i++
		if text[i] != 'u' {
			continue
		}
		high, low := hex4(text[i+1:]), -1
		if i+10 < len(text) && text[i+5] == '\\' && text[i+6] == 'u' {
			low = hex4(text[i+7:])
		}
		switch {
		case 0xd800 <= high && high < 0xdc00 && 0xdc00 <= low && low < 0xe000:
			i += 10
		case 0xd800 <= high && high < 0xe000:
			return true
		default:
			i += 4
		}
	}
	return false
}

func hex4(text []byte) int {
	n, err := strconv.ParseUint(string(text[:4]), 16, 16)
	if err != nil {
		return -1
	}
	return int(n)
}

func (w *walker) fault(detail string) error {
	return malformed(pointer(w.path...), detail)
}

// syntaxFault says what encoding/json found, without its package's name.
func syntaxFault(err error) string {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "The JSON ends too early."
	}
	return "The JSON is malformed: " + strings.TrimPrefix(err.Error(), "json: ") + "."
}
