package webhooks

import (
	"sync"

	"example.com/bankapi/internal/id"
)

// name is a delivery's.
type name struct{ hook, transfer id.ID }

// underWay knows what is being delivered, so that nothing is taken up twice. What has ended stays in it until the next
// look at what is due: a list that was read before the end still has it, as it was then.
type underWay struct {
	mu    sync.Mutex
	names map[name]bool // true: ended
}

// begin reports whether n is now the caller's to deliver, and then end must be called.
func (u *underWay) begin(n name) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if _, there := u.names[n]; there {
		return false
	}
	if u.names == nil {
		u.names = map[name]bool{}
	}
	u.names[n] = false
	return true
}

func (u *underWay) end(n name) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.names[n] = true
}

// look comes before reading what is due.
func (u *underWay) look() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for n, ended := range u.names {
		if ended {
			delete(u.names, n)
		}
	}
}
