package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"example.com/bankapi/internal/auth"
	"example.com/bankapi/internal/mail"
)

// mailer sends one mail.
type mailer interface {
	Send(context.Context, mail.Message) error
}

// parseMail returns how mail is sent: nil without a server.
func parseMail(smtpURL, from string) (mailer, error) {
	if smtpURL == "" {
		return nil, nil
	}
	if from == "" {
		return nil, errors.New("needs --mail-from (MAIL_FROM), the address that mail comes from")
	}
	return mail.NewSMTP(smtpURL, from)
}

// mailReset writes the mail of a password reset. Without a server it goes to the log, the only place where a token may be
// read there.
func mailReset(m mailer, log *slog.Logger) func(context.Context, auth.Reset) error {
	if m == nil {
		m = mail.Log{Log: log}
	}
	return func(ctx context.Context, r auth.Reset) error {
		return m.Send(ctx, mail.Message{To: r.Email, Subject: "Set a new password", Text: fmt.Sprintf(resetText, r.ExpiresAt.Format(time.RFC3339), r.Token)})
	}
}

const resetText = `Somebody, probably you, has asked the bank to set a new password for this address.

Until %s this token does so, once:

    %s

Send it with the new password: POST /password-resets/confirm {"token":"...","password":"..."}.
Every session will be over then.

If it was not you, do nothing: your password stays as it is.
`
