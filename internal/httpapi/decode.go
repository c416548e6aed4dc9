package httpapi

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth is how deep objects and arrays may nest within the body's object. No request of this API nests at all; the
// rest is for a clear answer.
const maxDepth = 16

// object is the body of a request: the members of one JSON object, each as it was written.
type object []member

type member struct {
	name []byte
	raw  jsontext.Value
}

// index is where the object has a member, -1 if it has not.
func (o object) index(name string) int {
	return slices.IndexFunc(o, func(m member) bool { return string(m.name) == name })
}

// readObject reads a body that must be exactly one JSON object: announced as JSON, well-formed, UTF-8, without duplicate
// names at any depth, without unpaired surrogates or U+0000 in any string, and with nothing after it.
func readObject(r *http.Request) (object, error) {
	if !announcesJSON(r.Header.Get("Content-Type")) {
		return nil, errNotJSON
	}
	body, err := readBody(r)
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, errBodyTooLarge
	}
	if err != nil {
		return nil, malformed("", "The body could not be read to its end.")
	}
	return parseObject(body)
}

func announcesJSON(contentType string) bool {
	if contentType == "application/json" {
		return true
	}
	mediaType, _, err := mime.ParseMediaType(contentType)
	return err == nil && mediaType == "application/json"
}

// readBody takes the room that the client announced. The server ends a body at its Content-Length.
func readBody(r *http.Request) ([]byte, error) {
	if r.ContentLength <= 0 || r.ContentLength > maxBody {
		return io.ReadAll(r.Body)
	}
	body := make([]byte, r.ContentLength)
	_, err := io.ReadFull(r.Body, body)
	return body, err
}

func parseObject(body []byte) (object, error) {
	if !utf8.Valid(body) {
		return nil, malformed("", "The body is not UTF-8.")
	}
	w, ok := walkers.Get().(*walker)
	if !ok {
		w = new(walker)
	}
	defer walkers.Put(w)
	w.body, w.source = body, *bytes.NewBuffer(body)
	w.dec.Reset(&w.source, anySurrogate)
	members, err := w.document()
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return nil, w.syntaxFault(syntax)
	}
	return members, err
}

// walker reads a document token by token. jsontext judges the syntax; the walker refuses what it would let pass.
type walker struct {
	dec    jsontext.Decoder
	source bytes.Buffer // what dec reads
	body   []byte
}

// walkers keeps decoders with the room they have made. The zero pool is ready.
var walkers sync.Pool

// anySurrogate leaves unpaired surrogates to unquote, so that the walker can name the member.
var anySurrogate = jsontext.AllowInvalidUTF8(true)

func (w *walker) document() (object, error) {
	open, err := w.dec.ReadToken()
	switch {
	case errors.Is(err, io.EOF):
		return nil, malformed("", "The body is empty.")
	case err != nil:
		return nil, err
	case open.Kind() != '{':
		return nil, malformed("", "The body must be a JSON object.")
	}
	members := make(object, 0, 8)
	for w.dec.PeekKind() != '}' {
		name, err := w.value()
		if err != nil {
			return nil, err
		}
		raw, err := w.value()
		if err != nil {
			return nil, err
		}
		text, _ := unquote(name)
		members = append(members, member{name: text, raw: raw})
	}
	if _, err := w.dec.ReadToken(); err != nil {
		return nil, err
	}
	if _, err := w.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, malformed("", "There is something after the JSON object.")
	}
	return members, nil
}

// value reads one value, or the name of a member, and returns its text.
func (w *walker) value() (jsontext.Value, error) {
	kind := w.dec.PeekKind()
	if kind == '{' || kind == '[' {
		return w.nested()
	}
	raw, err := w.dec.ReadValue()
	if err != nil {
		return nil, err
	}
	if kind == '"' {
		if _, flaw := unquote(raw); flaw != "" {
			return nil, w.fault(flaw)
		}
	}
	end := w.dec.InputOffset()
	return w.body[end-int64(len(raw)) : end], nil // the decoder's own slice is good until its next step only
}

// nested reads an object or an array.
func (w *walker) nested() (jsontext.Value, error) {
	if _, err := w.dec.ReadToken(); err != nil {
		return nil, err
	}
	start := w.dec.InputOffset() - 1
	if w.dec.StackDepth() > 1+maxDepth {
		return nil, w.fault("The body is nested too deeply.")
	}
	for kind := w.dec.PeekKind(); kind != '}' && kind != ']'; kind = w.dec.PeekKind() {
		if _, err := w.value(); err != nil {
			return nil, err
		}
	}
	_, err := w.dec.ReadToken()
	return w.body[start:w.dec.InputOffset()], err
}

// unquote is what a string says. It is flawed if Go strings or PostgreSQL text cannot carry it unchanged: only an escape
// can spell that.
func unquote(raw []byte) (text []byte, flaw string) {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1], ""
	}
	text, err := jsontext.AppendUnquote(nil, raw)
	switch {
	case err != nil:
		return nil, "The string contains an unpaired surrogate."
	case bytes.IndexByte(text, 0) >= 0:
		return nil, "The string contains U+0000."
	}
	return text, ""
}

// fault is about what was read last.
func (w *walker) fault(detail string) error {
	return faultAt(w.dec.StackPointer(), detail)
}

// syntaxFault says what jsontext found, without its package's name. What it finds after a member it places at the object
// around; the member is nearer.
func (w *walker) syntaxFault(err *jsontext.SyntacticError) error {
	at := err.JSONPointer
	if last := w.dec.StackPointer(); last.Parent() == at {
		at = last
	}
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return faultAt(at, "The member is there twice.")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return faultAt(at, "The JSON ends too early.")
	}
	return faultAt(at, "The JSON is malformed: "+err.Err.Error()+".")
}

func faultAt(at jsontext.Pointer, detail string) error {
	return malformed(pointer(slices.Collect(at.Tokens())...), detail)
}
