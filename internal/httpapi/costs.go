package httpapi

import (
	"net/http"

	"example.com/bankapi/internal/ratelimit"
)

// costs is what routes cost of the user's policies, by method and pattern. A route that is not here costs as a read.
var costs = map[string]int64{
	"POST /transfers": ratelimit.CostTransfer,
	"GET /limits":     0, // asking how much is left must not use it up
}

func costOf(method, pattern string) int64 {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if cost, ok := costs[method+" "+pattern]; ok {
		return cost
	}
	return ratelimit.CostRead
}
