package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/bankapi/bench"
)

// runner lets contenders take turns.
type runner struct {
	server      *server
	bank        *bank
	peer        *peer
	ceiling     *ceiling
	other       *other // nil for none
	rounds      int
	seconds     int
	connections []int
	skip        []string

	rates        map[int]float64 // of the bank's last closed run, by connections
	done         [3]int64        // transfers that were answered for, by ledger
	bar          bench.Bar
	label        string
	shown        time.Time
	shownAnswers int64
}

const (
	warmUp = time.Second
	first  = 2 * time.Second // of each contender before the rounds: connections, caches and plans are made, and nothing is noted
)

// contestResult is the samples of each contender, one for each round.
type contestResult struct {
	contenders []contender
	samples    [][]sample
}

// contend lets the contenders of a scenario work one after the other, in an order that moves on from round to round, and
// audits both ledgers after each round.
func (r *runner) contend(ctx context.Context, scenario string) (contestResult, error) {
	c := contestResult{contenders: r.contest(scenario)}
	c.samples = make([][]sample, len(c.contenders))
	r.bar = bench.StartBar(scenario, len(c.contenders)*(r.rounds+1))
	defer r.bar.Close()
	r.rates = map[int]float64{}
	for _, one := range c.contenders {
		length := first
		if one.lasting {
			length *= 5
		}
		if _, err := r.turn(ctx, one, length); err != nil {
			return c, fmt.Errorf("%s: %w", r.label, err)
		}
	}
	for round := range r.rounds {
		for i := range c.contenders {
			i = (i + round) % len(c.contenders)
			s, err := r.turn(ctx, c.contenders[i], time.Duration(r.seconds)*time.Second)
			if err == nil {
				err = s.odd
			}
			if err != nil {
				return c, fmt.Errorf("%s: %w", r.label, err)
			}
			c.samples[i] = append(c.samples[i], s)
		}
		if err := r.audit(ctx); err != nil {
			return c, fmt.Errorf("after round %d of %s: %w", round+1, scenario, err)
		}
	}
	return c, nil
}

func (r *runner) turn(ctx context.Context, c contender, length time.Duration) (sample, error) {
	if !c.lasting {
		if err := r.server.checkpoint(ctx); err != nil {
			return sample{}, err
		}
	}
	r.label = fmt.Sprintf("%s, %d clients", c.name, c.clients)
	r.bar.Say(r.label)
	r.shown, r.shownAnswers = time.Now(), 0
	s, err := c.slice(ctx, warmUp, length)
	r.done[c.ledger] += s.done
	r.bar.Step()
	return s, err
}

// watch says on the progress line how fast it goes.
func (r *runner) watch(answers int64) {
	now := time.Now()
	r.bar.Say(fmt.Sprintf("%s: %.0f/s", r.label, float64(answers-r.shownAnswers)/now.Sub(r.shown).Seconds()))
	r.shown, r.shownAnswers = now, answers
}

// audit fails unless both ledgers add up and hold the transfers that were answered with success, no more and no fewer.
func (r *runner) audit(ctx context.Context) error {
	bank, bankErr := r.bank.audit(ctx)
	peer, peerErr := r.peer.audit(ctx)
	if err := errors.Join(bankErr, peerErr); err != nil {
		return err
	}
	if bank != r.done[inBank] {
		return fmt.Errorf("the bank has %d transfers and answered 201 for %d", bank, r.done[inBank])
	}
	if peer != r.done[inPeer] {
		return fmt.Errorf("pgbench's ledger has %d transfers and pgbench logged %d", peer, r.done[inPeer])
	}
	return nil
}
