package httpapi_test

import (
	"os"
	"testing"

	"example.com/bankapi/internal/openapitest"
)

// unshown names the answers of the document that no test can bring about, and why.
var unshown = map[string]string{
	"GET / 500":                "an embedded page",
	"GET /docs 500":            "an embedded page",
	"GET /docs/{asset} 500":    "an embedded file",
	"GET /openapi.yaml 500":    "an embedded file",
	"GET /problems/{slug} 500": "an embedded page",
	"GET /healthz 500":         "asks nothing that could fail",

	"POST /password-resets 500": "puts an address in a queue, and no more",
}

// TestMain holds the suite to showing every answer of the document.
func TestMain(m *testing.M) {
	os.Exit(openapitest.Main(m, unshown))
}
