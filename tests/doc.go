// Package tests looks at bankapi from outside: it builds the real binary, starts it against real PostgreSQL and Redis
// servers and talks HTTP to it. What only code can show (which package may import which) is held by
// architecture_test.go.
//
// Start with tour_test.go: it is the README's curl tour, with the answers checked.
package tests
