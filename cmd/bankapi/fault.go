package main

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"example.com/bankapi/internal/transfers"
)

// Faults that are not the end of the process at one of the ledger's points.
const (
	slowCommit   = "slow_commit"
	dropResponse = "drop_response"
)

// faults are how a bank for trials harms itself: see --fault.
type faults []*fault

// fault is one of them: where, and either at which turn, or how often by chance, or for how long.
type fault struct {
	point   string
	turn    int64 // strikes at this one, counted from 1
	percent int   // or each time with this chance
	pause   time.Duration
	passed  atomic.Int64
}

// strikes reports whether this turn is the one.
func (f *fault) strikes() bool {
	if f.percent > 0 {
		return rand.IntN(100) < f.percent //nolint:gosec // chance need not be secret
	}
	return f.passed.Add(1) == f.turn
}

// parseFaults reads "POINT", "POINT:3", "POINT:5%" and "slow_commit=200ms", separated by commas. A bank for strangers
// takes none.
func parseFaults(csv string, demo bool) (faults, error) {
	if csv == "" {
		return nil, nil
	}
	if !demo {
		return nil, errors.New("harms the bank on purpose, which only a demo bank may do: leave it out, or set --demo on")
	}
	var all faults
	for entry := range strings.SplitSeq(csv, ",") {
		f, err := parseFault(strings.TrimSpace(entry))
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

func parseFault(s string) (*fault, error) {
	if text, ok := strings.CutPrefix(s, slowCommit+"="); ok {
		pause, err := time.ParseDuration(text)
		if err != nil || pause <= 0 || pause > time.Minute {
			return nil, fmt.Errorf("%q is no time up to 1m, such as 200ms", text)
		}
		return &fault{point: slowCommit, pause: pause}, nil
	}
	point, when, given := strings.Cut(s, ":")
	known := []string{dropResponse}
	for _, p := range transfers.Points() {
		known = append(known, string(p))
	}
	if err := checkWord(point, known...); err != nil {
		return nil, fmt.Errorf("%w, nor %s=200ms", err, slowCommit)
	}
	if !given {
		return &fault{point: point, turn: 1}, nil
	}
	text, isChance := strings.CutSuffix(when, "%")
	n, err := strconv.Atoi(text)
	switch {
	case err != nil || n < 1 || isChance && n > 100:
		return nil, fmt.Errorf("%q says not when: want %s:3 for the third time or %s:5%% for every twentieth by chance", s, point, point)
	case isChance:
		return &fault{point: point, percent: n}, nil
	}
	return &fault{point: point, turn: int64(n)}, nil
}

// ledger is what the ledger calls at each of its points; nil if there is nothing to do there.
func (all faults) ledger(log *slog.Logger) func(transfers.Point) {
	if len(all) == 0 {
		return nil
	}
	return func(p transfers.Point) {
		for _, f := range all {
			switch {
			case f.point == slowCommit && p == transfers.BeforeCommit:
				time.Sleep(f.pause)
			case f.point == string(p) && f.strikes():
				log.Warn("fault: the bank kills itself, as it was told to", slog.String("point", f.point))
				die()
			}
		}
	}
}

// die ends the process as kill -9 does: nothing is cleaned up.
func die() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	os.Exit(137) // where a process cannot be killed
}

// api lets transfers through and cuts the connection instead of telling the caller that one was made.
func (all faults) api(next http.Handler, log *slog.Logger) http.Handler {
	for _, f := range all {
		if f.point == dropResponse {
			next = f.dropping(next, log)
		}
	}
	return next
}

func (f *fault) dropping(next http.Handler, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.URL.Path == "/transfers" {
			w = &dropWriter{ResponseWriter: w, fault: f, log: log}
		}
		next.ServeHTTP(w, r)
	})
}

// dropWriter cuts the connection where a transfer would be confirmed.
type dropWriter struct {
	http.ResponseWriter
	fault *fault
	log   *slog.Logger
}

func (w *dropWriter) WriteHeader(status int) {
	if status == http.StatusCreated && w.fault.strikes() {
		w.log.Warn("fault: the answer to a transfer is dropped, as it was told to", slog.String("point", w.fault.point))
		panic(http.ErrAbortHandler)
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *dropWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
