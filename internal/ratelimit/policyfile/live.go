package policyfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync/atomic"
	"time"
)

// Live is the limits in force. Current may be asked by any number of goroutines while Watch exchanges them. The zero
// value is not usable; NewLive and Open make one.
type Live struct {
	path    string // "" where nothing can change
	routes  []Route
	current atomic.Pointer[Limits]
	seen    os.FileInfo // of the file that was read last, good or bad; touched by Watch alone
}

// NewLive returns limits that stay as they are.
func NewLive(l *Limits) *Live {
	live := &Live{}
	live.current.Store(l)
	return live
}

// Open reads the file at path, or takes the built-in one if path is empty. The routes are as for Parse.
func Open(path string, routes []Route) (*Live, error) {
	if path == "" {
		l, err := Parse(defaultFile, routes)
		if err != nil {
			return nil, fmt.Errorf("limits.yaml: %w", err)
		}
		return NewLive(l), nil
	}
	live := &Live{path: path, routes: routes}
	if err := live.read(); err != nil {
		return nil, fmt.Errorf("limits file %s is not used:\n%w", path, err)
	}
	return live, nil
}

// Current returns the limits in force.
func (l *Live) Current() *Limits { return l.current.Load() }

// watchEvery is how often the file is looked at.
const watchEvery = time.Second

// Watch reads the file again when it changes and at each signal, until ctx ends. A file that cannot be read or has
// faults is logged, once per change, and what was in force stays. What was used of a limit is not touched: it is the
// stores' and they keep it when numbers change.
func (l *Live) Watch(ctx context.Context, log *slog.Logger, signal <-chan os.Signal) {
	var look <-chan time.Time
	if l.path != "" {
		ticker := time.NewTicker(watchEvery)
		defer ticker.Stop()
		look = ticker.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-signal:
			l.reload(ctx, log)
		case <-look:
			if l.changed() {
				l.reload(ctx, log)
			}
		}
	}
}

// reload exchanges the limits, or says why not.
func (l *Live) reload(ctx context.Context, log *slog.Logger) {
	if l.path == "" {
		log.InfoContext(ctx, "no limits file to read again: the built-in limits stay")
		return
	}
	err := l.read()
	if err == nil {
		log.InfoContext(ctx, "limits read again", "file", l.path)
		return
	}
	faults, ok := errors.AsType[Faults](err)
	if !ok {
		log.ErrorContext(ctx, "limits file refused, the old limits stay", "file", l.path, "error", err)
		return
	}
	for _, fault := range faults {
		log.ErrorContext(ctx, "limits file refused, the old limits stay",
			"file", l.path, "line", fault.Line, "field", fault.Field, "fault", fault.What)
	}
}

// changed reports whether the file is another than the one read last. One that is gone has not changed: editors replace
// files, and the next look finds the new one.
func (l *Live) changed() bool {
	info, err := os.Stat(l.path)
	if err != nil {
		return false
	}
	return l.seen == nil || !os.SameFile(info, l.seen) || !info.ModTime().Equal(l.seen.ModTime()) || info.Size() != l.seen.Size()
}

// maxFile bounds a file named by mistake.
const maxFile = 1 << 20

// read puts the file in force if it has no faults.
func (l *Live) read() error {
	file, err := os.Open(l.path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // nothing was written
	if l.seen, err = file.Stat(); err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(file, maxFile))
	if err != nil {
		return err
	}
	limits, err := Parse(text, l.routes)
	if err != nil {
		return err
	}
	l.current.Store(limits)
	return nil
}
