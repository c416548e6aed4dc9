package client

import "sync"

// Budget ends retries when most requests fail: a server in trouble must not be asked four times as often. It holds 10
// tokens. Each failure takes one, each success gives back a tenth, and below 5 nothing is sent again.
//
// The zero value is full. It is safe for concurrent use, and may be shared by the Retriers that call one server.
type Budget struct {
	mu    sync.Mutex
	spent int // tenths of a token
}

const (
	fullBudget = 100 // tenths of a token
	failure    = 10
	success    = 1
)

// Failed takes a token, and reports whether what failed may be sent again.
func (b *Budget) Failed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spent = min(b.spent+failure, fullBudget)
	return fullBudget-b.spent >= fullBudget/2
}

// Succeeded gives back a tenth of a token.
func (b *Budget) Succeeded() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spent = max(b.spent-success, 0)
}
