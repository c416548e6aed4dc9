package tests

import (
	"fmt"
	"hash/maphash"
	"math"
	"testing"

	"github.com/anishathalye/porcupine"
)

// The bank as it would be if requests came one after the other: some accounts between which money moves, and keys. A
// history of concurrent requests is linearizable if each can be put at one moment between its call and its answer, so
// that this bank, asked in that order, says what the real one said.

const purses = 3 // accounts of a group; money never leaves it

// till is the state of a group. It is comparable: a step makes a new one.
type till struct {
	balances [purses]int64
	keys     string // a byte a key: what became of it
}

// What a key can be: not used, or used by the first or the second payload, which was paid or refused. No order is sent
// with an unused one.
const (
	unused  = '.'
	paid    = 'p'
	refused = 'r'
	other   = 1 // the key was used by the second payload: paid+other, refused+other
)

// deed is what a client asks. Orders name their key; each key has two payloads, the second of which is rare.
type deed struct {
	kind     string // "pay", "look" at one account, "list" all of them, or "ask" what became of a key
	key      int
	payload  byte // 0 or other
	from, to int  // "look" looks at from
	amount   int64
}

// said is what the client was told.
type said struct {
	verdict  byte // paid, refused, taken (by the other payload), unused, or lost
	replayed bool
	balances [purses]int64 // of "look" only the one it looked at
}

// taken is said of a key that belongs to another payload; lost is nothing at all, or that the bank could not tell.
const (
	taken = 't'
	lost  = '?'
)

// step reports whether the bank may say this in this state, and the state after. A lost order is executed here and now:
// if it never was, its place is after the answer to the same key sent again, where it changes nothing.
func step(s till, d deed, a said) (bool, till) {
	switch d.kind {
	case "look":
		return s.balances[d.from] == a.balances[d.from], s
	case "list":
		return s.balances == a.balances, s
	case "ask":
		became := s.keys[d.key]
		if became == paid+other || became == refused+other {
			became -= other
		}
		return a.verdict == lost || a.verdict == became, s
	}
	if became := s.keys[d.key]; became != unused {
		if became != paid+d.payload && became != refused+d.payload {
			return a.verdict == lost || a.verdict == taken, s
		}
		return a.verdict == lost || a.verdict == became-d.payload && a.replayed, s
	}
	verdict := byte(refused)
	if s.balances[d.from] >= d.amount {
		verdict = paid
		s.balances[d.from] -= d.amount
		s.balances[d.to] += d.amount
	}
	s.keys = s.keys[:d.key] + string(verdict+d.payload) + s.keys[d.key+1:]
	return a.verdict == lost || a.verdict == verdict && !a.replayed, s
}

// ledgerModel is step for porcupine, from a state on.
func ledgerModel(begin till) porcupine.Model {
	seed := maphash.MakeSeed()
	return porcupine.Model{
		Init: func() any { return begin },
		Step: func(state, input, output any) (bool, any) {
			return step(state.(till), input.(deed), output.(said))
		},
		Hash: func(state any) uint64 { return maphash.Comparable(seed, state.(till)) },
		DescribeOperation: func(input, output any) string {
			d, a := input.(deed), output.(said)
			switch d.kind {
			case "look":
				return fmt.Sprintf("look at %d: %d", d.from, a.balances[d.from])
			case "list":
				return fmt.Sprintf("list: %v", a.balances)
			case "ask":
				return fmt.Sprintf("ask for key %d: %c", d.key, a.verdict)
			}
			return fmt.Sprintf("key %d/%d: %d from %d to %d: %c, replayed %t", d.key, d.payload, d.amount, d.from, d.to, a.verdict, a.replayed)
		},
		DescribeState: func(state any) string { return fmt.Sprint(state.(till).balances) },
	}
}

// TestTheModelTellsAWrongBank feeds it histories of banks that are right and of banks that are not. An answer without a
// number of its own follows the one before it.
func TestTheModelTellsAWrongBank(t *testing.T) {
	t.Parallel()
	pay := func(key int, amount int64) deed { return deed{kind: "pay", key: key, from: 0, to: 1, amount: amount} }
	look := func(account int, balance int64) (d deed, a said) {
		a.balances[account] = balance
		return deed{kind: "look", from: account}, a
	}
	list := func(balances ...int64) (d deed, a said) {
		copy(a.balances[:], balances)
		return deed{kind: "list"}, a
	}
	op := func(call, end int64, d deed, a said) porcupine.Operation {
		return porcupine.Operation{Input: d, Call: call, Output: a, Return: end}
	}
	looked := func(call, end int64, account int, balance int64) porcupine.Operation {
		d, a := look(account, balance)
		return op(call, end, d, a)
	}
	listed := func(call, end int64, balances ...int64) porcupine.Operation {
		d, a := list(balances...)
		return op(call, end, d, a)
	}
	second := pay(0, 60)
	second.payload = other
	ask := deed{kind: "ask", key: 0}
	yes, no, again := said{verdict: paid}, said{verdict: refused}, said{verdict: paid, replayed: true}
	nothing := said{verdict: lost}

	for _, c := range []struct {
		name    string
		right   bool
		history []porcupine.Operation
	}{
		{"paid and seen", true, []porcupine.Operation{op(1, 2, pay(0, 60), yes), looked(3, 4, 0, 40), listed(5, 6, 40, 160, 100)}},
		{"seen before the answer", true, []porcupine.Operation{op(1, 9, pay(0, 60), yes), looked(2, 3, 0, 40)}},
		{"not seen yet", true, []porcupine.Operation{op(1, 9, pay(0, 60), yes), looked(2, 3, 0, 100)}},
		{"seen and gone again", false, []porcupine.Operation{op(1, 9, pay(0, 60), yes), looked(2, 3, 0, 40), looked(4, 5, 0, 100)}},
		{"answered and not seen", false, []porcupine.Operation{op(1, 2, pay(0, 60), yes), looked(3, 4, 0, 100)}},
		{"one side seen", false, []porcupine.Operation{op(1, 9, pay(0, 60), yes), listed(2, 3, 40, 100, 100)}},
		{"a lost update", false, []porcupine.Operation{op(1, 5, pay(0, 30), yes), op(1, 5, pay(1, 30), yes), looked(6, 7, 0, 70)}},
		{"spent twice", false, []porcupine.Operation{op(1, 5, pay(0, 60), yes), op(1, 5, pay(1, 60), yes)}},
		{"spent once", true, []porcupine.Operation{op(1, 5, pay(0, 60), yes), op(1, 5, pay(1, 60), no)}},
		{"refused for no reason", false, []porcupine.Operation{op(1, 2, pay(0, 60), no)}},
		{"replayed", true, []porcupine.Operation{op(1, 5, pay(0, 60), yes), op(2, 6, pay(0, 60), again), looked(7, 8, 0, 40)}},
		{"replayed too early", false, []porcupine.Operation{op(1, 2, pay(0, 60), again), op(3, 4, pay(0, 60), yes)}},
		{"executed twice", false, []porcupine.Operation{op(1, 2, pay(0, 10), yes), op(3, 4, pay(0, 10), yes)}},
		{"moved twice", false, []porcupine.Operation{op(1, 2, pay(0, 10), yes), op(3, 4, pay(0, 10), again), looked(5, 6, 0, 80)}},
		{"a refusal judged again", false, []porcupine.Operation{op(1, 2, pay(0, 160), no), op(3, 4, pay(0, 160), yes)}},
		{"lost and done", true, []porcupine.Operation{op(1, 8, pay(0, 60), nothing), looked(3, 4, 0, 40), op(5, 8, pay(0, 60), again)}},
		{"lost and not done", true, []porcupine.Operation{op(1, 8, pay(0, 60), nothing), looked(3, 4, 0, 100), op(5, 8, pay(0, 60), yes)}},
		{"lost, done and done again", false, []porcupine.Operation{op(1, 8, pay(0, 60), nothing), looked(3, 4, 0, 40), op(5, 8, pay(0, 60), yes)}},
		{"lost, not done and replayed", false, []porcupine.Operation{op(6, 8, pay(0, 60), nothing), op(3, 5, pay(0, 60), again)}},
		{"lost for good", true, []porcupine.Operation{op(1, math.MaxInt64, pay(0, 60), nothing), looked(3, 4, 0, 40)}},
		{"two payloads", true, []porcupine.Operation{op(1, 5, pay(0, 60), said{verdict: taken}), op(1, 5, second, yes)}},
		{"two payloads and both done", false, []porcupine.Operation{op(1, 5, pay(0, 10), yes), op(1, 5, second, yes)}},
		{"asked and told", true, []porcupine.Operation{op(1, 9, pay(0, 60), yes), op(2, 3, ask, said{verdict: unused}), op(4, 5, ask, yes)}},
		{"asked and forgotten", false, []porcupine.Operation{op(1, 9, pay(0, 60), yes), op(2, 3, ask, yes), op(4, 5, ask, said{verdict: unused})}},
	} {
		begin := till{balances: [purses]int64{100, 100, 100}, keys: ".."}
		if got := porcupine.CheckOperations(ledgerModel(begin), c.history); got != c.right {
			t.Errorf("%s: linearizable %t, want %t", c.name, got, c.right)
		}
	}
}
