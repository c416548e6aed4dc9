// Package api holds the contract: every operation of the bank, and every answer it can give, as one OpenAPI 3.1
// document, and the page that shows it to people.
//
// The document is written by hand and comes first. What keeps the server to it is internal/openapitest, through which
// every HTTP test passes its answers.
package api

import _ "embed" // for Spec

// Spec is the document, openapi.yaml. Treat it as read-only.
//
//go:embed openapi.yaml
var Spec []byte
