package tests

import (
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// storm is many clients at once, each history of which must be one that the bank of ledger_model_test.go could have.
// The groups have nothing to do with each other, so each is checked by itself.
type storm struct {
	t      *testing.T
	banks  []atomic.Pointer[server]
	begun  time.Time
	seed   uint64
	groups []*group
	over   atomic.Bool
	deeds  atomic.Int64
	lost   atomic.Int64 // answers that never came, or were 503
}

// group is one user with some accounts, and the clients that act as that user at the same time.
type group struct {
	user     caller
	accounts [purses]string
	opening  int64

	mu      sync.Mutex
	keys    [][2]deed // both payloads of each key
	bodies  map[int]string
	history []porcupine.Operation
}

const (
	stormGroups  = 3
	stormClients = 5 // of each group
	stormCredit  = "BANKAPI_OPENING_CREDIT=100"
)

// raise opens the accounts of the groups. The banks must trust 127.0.0.1, open accounts with stormCredit and have no
// limits that matter.
func raise(t *testing.T, banks ...*server) *storm {
	t.Helper()
	s := &storm{t: t, banks: make([]atomic.Pointer[server], len(banks)), begun: time.Now(), seed: rand.Uint64()}
	t.Logf("seed %d", s.seed)
	for i, b := range banks {
		s.banks[i].Store(b)
	}
	for range stormGroups {
		g := &group{user: somebody(t, banks[0].URL), bodies: map[int]string{}}
		for i := range g.accounts {
			a := g.user.openAccount(t, "NGN")
			g.accounts[i], g.opening = a.ID, a.Balance
		}
		s.groups = append(s.groups, g)
	}
	return s
}

// rage has all clients act until during, which may break things, has returned, and everybody is answered. Then every
// key is sent once more.
func (s *storm) rage(during func()) {
	var clients sync.WaitGroup
	for i := range stormGroups * stormClients {
		clients.Go(s.client(i).act)
	}
	during()
	s.over.Store(true)
	clients.Wait()
	for i, g := range s.groups {
		last := s.client(stormGroups*stormClients + i)
		for key := range g.keys {
			last.pay(key, 0)
		}
		last.list()
	}
}

func (s *storm) client(i int) *client {
	return &client{storm: s, group: s.groups[i%stormGroups], id: i / stormGroups, rng: rand.New(rand.NewPCG(s.seed, uint64(i)))}
}

// await returns when the clients have done n things more.
func (s *storm) await(n int64) {
	for until := s.deeds.Load() + n; s.deeds.Load() < until && !s.t.Failed(); {
		time.Sleep(time.Millisecond)
	}
}

// check has porcupine look for an order in which the bank of the model says the same.
func (s *storm) check() {
	s.t.Helper()
	for i, g := range s.groups {
		begin := till{keys: strings.Repeat(string(unused), len(g.keys))}
		for p := range begin.balances {
			begin.balances[p] = g.opening
		}
		model := ledgerModel(begin)
		result, info := porcupine.CheckOperationsVerbose(model, g.history, 30*time.Second)
		if result == porcupine.Ok {
			continue
		}
		s.t.Errorf("group %d: is the history of %d operations linearizable? %v", i, len(g.history), result)
		s.draw(model, info)
	}
	s.t.Logf("%d deeds, %d answers lost", s.deeds.Load(), s.lost.Load())
}

// draw keeps the history as a page that shows how far an order was found.
func (s *storm) draw(model porcupine.Model, info porcupine.LinearizationInfo) {
	s.t.Helper()
	page, err := os.CreateTemp("", "bankapi-history-*.html")
	if err != nil {
		s.t.Fatal(err)
	}
	defer page.Close()
	if err := porcupine.Visualize(model, info, page); err != nil {
		s.t.Fatal(err)
	}
	s.t.Logf("see %s", page.Name())
}
