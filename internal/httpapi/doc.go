// Package httpapi is the HTTP surface of the bank: the only package that knows routes, status codes and headers.
//
// Open router.go first: it is the whole path of a request, top to bottom. Then problem.go, the one table of every error
// a client can see.
//
//	request -> id, log, recover, headers, body cap, CORS
//	        -> ip limit -> deadline, bearer token -> user limits -> decode, call a feature, encode
//
// A handler decodes, calls and encodes, and returns its error; [Problem] turns the error into an answer in one place.
// What the layers of one request tell each other (its id, the caller, the limits so far) is in the exchange.
package httpapi
