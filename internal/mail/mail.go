// Package mail sends short texts to people: through an SMTP server ([SMTP]), or, in a demo that has none, into the log
// ([Log]). The messages themselves are written by whoever sends them.
//
// Sending takes as long as the server likes and may fail; call it from the background and give it a context that ends.
package mail

import (
	"context"
	"log/slog"
)

// Message is a text to one person.
type Message struct {
	To      string // an address such as ada@example.com
	Subject string
	Text    string
}

// Log writes messages to the log instead of sending them, secrets and all: it is for demos, where the reader of the log is
// the user.
type Log struct{ Log *slog.Logger }

// Send writes m to the log.
func (l Log) Send(ctx context.Context, m Message) error {
	l.Log.InfoContext(ctx, "DEMO MAIL, not sent because SMTP_URL is not set", "to", m.To, "subject", m.Subject, "text", m.Text)
	return nil
}
