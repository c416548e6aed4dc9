package openapitest

import (
	"fmt"
	"io"
	"net/http"
	"slices"
)

// checkRequest compares a request that succeeded with the document, which must have allowed it. Parameters outside the
// path are compared if they are there; a required one must be.
func (d *document) checkRequest(o operation, inPath map[string]string, req *http.Request) []string {
	var faults []string
	var inQuery []string
	for _, pointer := range d.parameters(o) {
		parameter := d.members(pointer)
		name, _ := parameter["name"].(string)
		var values []string
		switch parameter["in"] {
		case "path":
			values = []string{inPath[name]}
		case "query":
			values = req.URL.Query()[name]
			inQuery = append(inQuery, name)
		case "header":
			values = req.Header.Values(name)
		}
		if fault := d.checkHeader(pointer, values, nil); fault != "" {
			faults = append(faults, "accepted the parameter "+name+": "+fault)
		}
	}
	strict := d.at(join(o.pointer, "responses", "400")) != nil // else a page, which ignores its query
	for name := range req.URL.Query() {
		if strict && !slices.Contains(inQuery, name) {
			faults = append(faults, "accepted the query parameter "+name+", which the document does not have")
		}
	}
	if fault := d.checkRequestBody(join(o.pointer, "requestBody"), req); fault != "" {
		faults = append(faults, "accepted a request the document forbids: "+fault)
	}
	return faults
}

func (d *document) checkRequestBody(pointer string, req *http.Request) string {
	if d.at(pointer) == nil || req.GetBody == nil {
		return ""
	}
	reader, err := req.GetBody()
	if err != nil {
		return fmt.Sprintf("read the request again: %v", err)
	}
	defer reader.Close()
	body, err := io.ReadAll(reader)
	if err != nil {
		return fmt.Sprintf("read the request again: %v", err)
	}
	mediaType, fault := d.mediaType(join(pointer, "content"), req.Header.Get("Content-Type"))
	if fault != "" {
		return fault
	}
	return d.checkContent(join(pointer, "content", mediaType), mediaType, body)
}
