// Package openapitest keeps the server to api/openapi.yaml: every HTTP test passes its answers through it.
//
//	client := openapitest.Client(t)                 // over the network: every answer is checked
//	res := openapitest.Serve(t, handler, request)   // without one
//	openapitest.Check(t, request, res)              // what both call
//
// A check compares one answer with the document: is the status listed for that operation, is each required header there
// and of the right form, is there none that the document gives to other answers only, is the content type listed, does
// the body match its schema with formats and without members nobody named. A request that succeeded is compared too: the
// document must have allowed it. Answers to no operation (404, 405, preflights) have their own place in the document.
//
// Four more tests close the loop. [MatchesRoutes]: the router has exactly the operations of the document. [ProblemTypes]:
// the table of errors and the document agree. [Main]: each (operation, status) pair of the document has really been seen.
// And the package's own tests break good answers in every way it knows, and break the document's rules of style.
//
// # Why not a ready-made validator
//
// libopenapi-validator v0.16.2 was tried first. It could not compile the schema of GET /me, which is a correct one: it
// re-renders each schema as YAML and fails to read what it wrote. It took 0.7 s to load the document and about five
// minutes of processor time to build. kin-openapi silently falls back to an old validator where a schema has a $ref and
// never asserts "format". So the schemas are judged by santhosh-tekuri/jsonschema, which passes the official test suite
// of JSON Schema 2020-12, the dialect of OpenAPI 3.1; the rest is the little there is here.
//
// Start with check.go.
package openapitest
