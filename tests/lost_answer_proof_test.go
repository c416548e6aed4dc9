package tests

import (
	"bytes"
	"cmp"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"example.com/bankapi/internal/dbtest"
)

// ledgerProxy stands between a bank and its database. On the connection that writes the ledger, and once it is armed,
// it swallows a word: from then on nothing passes, as if both cables were cut.
type ledgerProxy struct {
	url      string // of the database through the proxy
	network  string
	target   string
	word     []byte
	ofServer bool // the word is PostgreSQL's, else the bank's
	armed    atomic.Bool
	found    chan struct{} // closed when the word was swallowed
}

// proxyTo starts a proxy to the database of a URL. It ends with the test.
func proxyTo(t *testing.T, database, word string, ofServer bool) *ledgerProxy {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	p := &ledgerProxy{network: "tcp", target: u.Host, word: []byte(word), ofServer: ofServer, found: make(chan struct{})}
	query := u.Query()
	if sockets := query.Get("host"); sockets != "" { // a server of local binaries listens on nothing else
		p.network, p.target = "unix", sockets+"/.s.PGSQL."+cmp.Or(query.Get("port"), u.Port(), "5432")
		query.Del("host")
		query.Del("port")
	}
	u.Host = listener.Addr().String()
	query.Set("sslmode", "disable") // the proxy must be able to read
	u.RawQuery = query.Encode()
	p.url = u.String()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go p.serve(conn)
		}
	}()
	return p
}

func (p *ledgerProxy) serve(bank net.Conn) {
	defer bank.Close()
	server, err := net.Dial(p.network, p.target)
	if err != nil {
		return
	}
	defer server.Close()
	hello := make([]byte, 64<<10)
	n, err := bank.Read(hello) // the start-up message, which names the application
	if err != nil {
		return
	}
	ledger := bytes.Contains(hello[:n], []byte("bankapi-ledger"))
	if _, err := server.Write(hello[:n]); err != nil {
		return
	}
	go func() {
		p.copy(server, bank, ledger && !p.ofServer)
		_ = server.Close()
	}()
	p.copy(bank, server, ledger && p.ofServer)
}

// copy passes bytes on until the word comes by.
func (p *ledgerProxy) copy(to io.Writer, from io.Reader, watched bool) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if watched && bytes.Contains(bytes.ToUpper(buf[:n]), p.word) && p.armed.CompareAndSwap(true, false) {
			close(p.found)
			time.Sleep(time.Minute) // neither side hears anything: the bank is about to be killed
			return
		}
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// TestKilledAroundTheCommit kills the bank at the two worst moments (CASES transfers 6). After COMMIT and before the
// answer: the key replays and money has moved once. Before COMMIT: the key executes at once, and nothing locks it out.
func TestKilledAroundTheCommit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		word     string
		ofServer bool
		replayed string
	}{
		{"after COMMIT, before the answer", "COMMIT\x00", true, "true"},
		{"before COMMIT", "COMMIT", false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			database := dbtest.URL(t)
			proxy := proxyTo(t, database, c.word, c.ofServer)
			settings := []string{"TRUSTED_PROXIES=127.0.0.1/32", "BANKAPI_DEMO=off"}
			s := start(t, append(settings, "DATABASE_URL="+proxy.url)...)
			user := somebody(t, s.URL)
			from, to := user.openAccount(t, "NGN"), user.openAccount(t, "NGN")

			proxy.armed.Store(true)
			lost := make(chan error, 1)
			go func() {
				_, err := user.try(t, "POST", "/transfers", order(from.ID, to.ID, 10), "Idempotency-Key", "k")
				lost <- err
			}()
			select {
			case <-proxy.found:
			case <-time.After(30 * time.Second):
				t.Fatalf("no %q came by\n%s", c.word, s.log)
			}
			s.kill(t)
			if err := <-lost; err == nil {
				t.Error("the request was answered by a bank that was killed before")
			}

			again := start(t, append(settings, "DATABASE_URL="+database)...)
			user.URL = again.URL
			got := user.transfer(t, "k", from.ID, to.ID, 10)
			if got.Status != http.StatusCreated {
				t.Fatalf("the same key after the restart: %s", got)
			}
			wantHeader(t, got, "Idempotent-Replayed", c.replayed)
			if spent := from.Balance - balanceOf(user.accounts(t, "NGN"), from.ID); spent != 10 {
				t.Errorf("%d spent, want 10", spent)
			}
			verify(t, database)
		})
	}
}
