package httpapi

import "net/http"

// stages says by which policies a route is counted: what router.go and the handlers do, in words for those who ask
// before a request is sent. A test sends a request to every route and holds the two together.
type stages struct {
	address   bool // ip
	anonymous bool // anonymous, whoever calls
	member    bool // user and daily; anonymous if the token is not good
	logIn     bool // login-account, login-ip
	signUp    bool // signup-ip
	reset     bool // password-reset-email
	order     bool // transfers-account, global-transfers
}

// stagesOf knows a route by its pattern; the empty one is that of requests that match nothing.
func stagesOf(method, pattern string) stages {
	switch pattern {
	case "/", "/docs", "/docs/{asset}", "/openapi.yaml", "/problems/{slug}", "/healthz", "/readyz":
		return stages{}
	case "":
		return stages{address: true}
	case "/rates", "/password-resets/confirm":
		return stages{address: true, anonymous: true}
	case "/users":
		return stages{address: true, anonymous: true, signUp: true}
	case "/password-resets":
		return stages{address: true, anonymous: true, reset: true}
	case "/sessions":
		return stages{address: true, logIn: true}
	}
	return stages{address: true, member: true, order: method == http.MethodPost && pattern == transferPattern}
}
