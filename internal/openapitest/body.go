package openapitest

import (
	"bytes"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// checkBody compares an answer's body with the content that a pointer names.
func (d *document) checkBody(content, method string, a answer) []string {
	contentType := a.header.Get("Content-Type")
	if len(d.names(content)) == 0 {
		if contentType != "" || len(a.body) > 0 {
			return []string{fmt.Sprintf("there is a body of %d bytes (%q) where none may be", len(a.body), contentType)}
		}
		return nil
	}
	mediaType, fault := d.mediaType(content, contentType)
	if fault != "" {
		return []string{fault}
	}
	if method == http.MethodHead {
		return nil
	}
	if fault := d.checkContent(join(content, mediaType), mediaType, a.body); fault != "" {
		return []string{fault}
	}
	return nil
}

// mediaType returns the one of the content's media types that a header names. Text says that it is UTF-8, JSON always is.
func (d *document) mediaType(content, header string) (string, string) {
	mediaType, parameters, err := mime.ParseMediaType(header)
	if err != nil || d.members(join(content, mediaType)) == nil {
		return "", fmt.Sprintf("the content type %q is not one of %s", header, strings.Join(d.names(content), ", "))
	}
	if charset, ok := parameters["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return "", fmt.Sprintf("the content type %q is not UTF-8", header)
	}
	return mediaType, ""
}

// checkContent compares a body with the schema of its media type.
func (d *document) checkContent(content, mediaType string, body []byte) string {
	if d.at(join(content, "schema")) == nil {
		return ""
	}
	var value any = string(body)
	if isJSON(mediaType) {
		var err error
		if value, err = jsonschema.UnmarshalJSON(bytes.NewReader(body)); err != nil {
			return "the body is not JSON: " + err.Error()
		}
	}
	if !utf8.Valid(body) {
		return "the body is not UTF-8"
	}
	return d.mismatch(join(content, "schema"), value)
}

func isJSON(mediaType string) bool {
	return mediaType == "application/json" || strings.HasSuffix(mediaType, "+json")
}
