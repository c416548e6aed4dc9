package mail_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	netmail "net/mail"
	"strings"
	"testing"
	"time"

	"example.com/bankapi/internal/mail"
)

// server is an SMTP server that takes one message. It offers no TLS.
func server(t *testing.T) (address string, taken <-chan string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	out := make(chan string, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		out <- converse(conn)
	}()
	return listener.Addr().String(), out
}

// converse speaks as much SMTP as a client needs and returns what was said, the envelope first.
func converse(conn net.Conn) string {
	var said strings.Builder
	lines := bufio.NewScanner(conn)
	fmt.Fprint(conn, "220 test\r\n")
	for lines.Scan() {
		line := lines.Text()
		verb, _, _ := strings.Cut(line, " ")
		switch verb {
		case "MAIL", "RCPT":
			fmt.Fprintln(&said, line)
			fmt.Fprint(conn, "250 ok\r\n")
		case "DATA":
			fmt.Fprint(conn, "354 go on\r\n")
			for lines.Scan() && lines.Text() != "." {
				fmt.Fprintln(&said, lines.Text())
			}
			fmt.Fprint(conn, "250 taken\r\n")
		case "QUIT":
			fmt.Fprint(conn, "221 bye\r\n")
			return said.String()
		default:
			fmt.Fprint(conn, "250 ok\r\n")
		}
	}
	return said.String()
}

func TestSendsThroughAServer(t *testing.T) {
	t.Parallel()
	address, taken := server(t)
	s, err := mail.NewSMTP("smtp://"+address, "Bank <bank@example.com>")
	if err != nil {
		t.Fatal(err)
	}
	m := mail.Message{To: "ada@example.com", Subject: "Grüße", Text: "A line.\n.\nAnother.\n"}
	if err := s.Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	got := <-taken
	for _, want := range []string{"MAIL FROM:<bank@example.com>", "RCPT TO:<ada@example.com>"} {
		if !strings.Contains(got, want) {
			t.Errorf("the envelope lacks %s: %s", want, got)
		}
	}
	_, text, _ := strings.Cut(got, "RCPT TO:<ada@example.com>\n")
	parsed, err := netmail.ReadMessage(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v in %s", err, got)
	}
	for name, want := range map[string]string{"From": `"Bank" <bank@example.com>`, "To": "<ada@example.com>", "Subject": "=?UTF-8?q?Gr=C3=BC=C3=9Fe?="} {
		if value := parsed.Header.Get(name); value != want {
			t.Errorf("%s: %q, want %q", name, value, want)
		}
	}
	if body, _ := io.ReadAll(parsed.Body); !strings.Contains(string(body), "A line.") || !strings.Contains(string(body), "Another.") {
		t.Errorf("the body is %q", body)
	}
}

func TestNobodyWritesHeaders(t *testing.T) {
	t.Parallel()
	address, taken := server(t)
	s, err := mail.NewSMTP("smtp://"+address, "bank@example.com")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Send(t.Context(), mail.Message{To: "ada@example.com\r\nBcc: eve@example.com", Subject: "s", Text: "t"}); err == nil {
		t.Error("an address with a line end was taken")
	}
	if err := s.Send(t.Context(), mail.Message{To: "ada@example.com", Subject: "s\r\nBcc: eve@example.com", Text: "t"}); err != nil {
		t.Fatal(err)
	}
	if got := <-taken; strings.Contains(got, "\nBcc:") {
		t.Errorf("a subject became a header: %s", got)
	}
}

func TestASilentServerIsGivenUp(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	s, err := mail.NewSMTP("smtp://"+listener.Addr().String(), "bank@example.com")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	start := time.Now()
	if err := s.Send(ctx, mail.Message{To: "ada@example.com"}); err == nil || time.Since(start) > 5*time.Second {
		t.Errorf("%v after %v", err, time.Since(start))
	}
}

func TestPasswordsAreNotSentInTheClear(t *testing.T) {
	t.Parallel()
	address, _ := server(t)
	s, err := mail.NewSMTP("smtp://bank:secret@"+address, "bank@example.com")
	if err != nil {
		t.Fatal(err)
	}
	err = s.Send(t.Context(), mail.Message{To: "ada@example.com", Subject: "s", Text: "t"})
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("a server without TLS: %v, want an error without the password", err)
	}
}

func TestSettingsThatCannotWork(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "mail.example.com:25", "http://mail.example.com", "smtp://", "smtp://h:99999", "smtp://h/path", "smtp://h?x=1", "smtp://u:secret@h:p"} {
		if _, err := mail.NewSMTP(url, "bank@example.com"); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v, want an error without the password", url, err)
		}
	}
	for _, from := range []string{"", "bank", "a@b.example, c@d.example"} {
		if _, err := mail.NewSMTP("smtp://mail.example.com", from); err == nil {
			t.Errorf("from %q was accepted", from)
		}
	}
	for _, url := range []string{"smtp://mail.example.com", "smtps://u:p%40ss@mail.example.com", "smtp://[::1]:25", "smtp://u:p@mail.example.com:2525"} {
		if _, err := mail.NewSMTP(url, "Bank <bank@example.com>"); err != nil {
			t.Errorf("%q: %v", url, err)
		}
	}
}

func TestTheDemoLogsMail(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := mail.Log{Log: slog.New(slog.NewTextHandler(&out, nil))}
	if err := l.Send(t.Context(), mail.Message{To: "ada@example.com", Subject: "s", Text: "the token"}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "DEMO MAIL, not sent") || !strings.Contains(out.String(), "the token") {
		t.Errorf("the log says %s", out.String())
	}
}
