// Package logtest is for tests that read a log.
//
// A bytes.Buffer will not do: its readers race with the goroutines that still write to it.
package logtest

import (
	"bytes"
	"log/slog"
	"sync"
)

// Buffer is a log that can be read while it is written. The zero value is empty and ready.
type Buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write adds a line.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String is everything so far.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// Logger writes to b as people read it.
func (b *Buffer) Logger() *slog.Logger { return slog.New(slog.NewTextHandler(b, nil)) }
