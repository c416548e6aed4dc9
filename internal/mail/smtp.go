package mail

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/wneessen/go-mail"
)

// SMTP sends through one server, over a new connection for each message. It is safe for concurrent use.
type SMTP struct {
	host    string
	from    string
	options []mail.Option
}

// ErrURL says what an SMTP URL looks like. No error of this package repeats the URL: it may hold a password.
var ErrURL = errors.New("want smtp://user:password@host:587, or smtps:// for TLS from the first byte, with special characters of the password as %XX")

// NewSMTP returns a sender for a server and the address its messages come from, such as "Bank <bank@example.com>".
//
// smtps speaks TLS from the first byte (port 465 unless another is named), smtp switches to it with STARTTLS (port 587)
// and refuses a server that cannot, since a token in a mail is as good as a password. Only to a server on this machine
// may a message travel in the clear, and then without logging in.
func NewSMTP(rawURL, from string) (*SMTP, error) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "" || u.Path != "" && u.Path != "/" {
		return nil, ErrURL
	}
	s := &SMTP{host: u.Hostname(), from: from}
	port := 587
	switch u.Scheme {
	case "smtps":
		port = 465
		s.add(mail.WithSSL())
	case "smtp":
		s.add(mail.WithTLSPolicy(startTLS(u)))
	default:
		return nil, ErrURL
	}
	if text := u.Port(); text != "" {
		if port, err = strconv.Atoi(text); err != nil {
			return nil, ErrURL
		}
	}
	s.add(mail.WithPort(port))
	if password, ok := u.User.Password(); ok {
		s.add(mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover), mail.WithUsername(u.User.Username()), mail.WithPassword(password))
	}
	if _, err := mail.NewClient(s.host, s.options...); err != nil {
		return nil, ErrURL
	}
	if err := mail.NewMsg().From(from); err != nil {
		return nil, fmt.Errorf("%q is no address to send from; want bank@example.com or Bank <bank@example.com>", from)
	}
	return s, nil
}

func (s *SMTP) add(options ...mail.Option) { s.options = append(s.options, options...) }

// startTLS insists on encryption, except towards a server on this machine that asks for no password.
func startTLS(u *url.URL) mail.TLSPolicy {
	address, err := netip.ParseAddr(u.Hostname())
	local := u.Hostname() == "localhost" || err == nil && address.IsLoopback()
	if local && u.User == nil {
		return mail.TLSOpportunistic
	}
	return mail.TLSMandatory
}

// stepTimeout is how long the server may take over one step of the conversation.
const stepTimeout = 10 * time.Second

// patience is stepTimeout, or less if ctx ends before: the library looks at a context only while it connects.
func patience(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return max(min(time.Until(deadline), stepTimeout), time.Millisecond)
	}
	return stepTimeout
}

// Send returns nil when the server has taken the message. It gives up when ctx ends, or somewhat later if the server
// answers slowly, step by step.
func (s *SMTP) Send(ctx context.Context, m Message) error {
	message := mail.NewMsg()
	if err := errors.Join(message.From(s.from), message.To(m.To)); err != nil {
		return fmt.Errorf("address a mail: %w", err)
	}
	message.Subject(m.Subject)
	message.SetBodyString(mail.TypeTextPlain, m.Text)
	message.SetDate()
	message.SetMessageID()

	client, err := mail.NewClient(s.host, append(slices.Clone(s.options), mail.WithTimeout(patience(ctx)))...)
	if err != nil {
		return fmt.Errorf("send a mail: %w", err)
	}
	if err := client.DialAndSendWithContext(ctx, message); err != nil {
		return fmt.Errorf("send a mail: %w", errors.Join(err, ctx.Err()))
	}
	return nil
}
