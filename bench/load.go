package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
)

// Connections is how many clients talk to each server at once. Each waits for its answer before it asks again.
const Connections = 16

// Load asks a handler over loopback, as cheaply as a client can: it writes the same bytes and reads the answer no closer
// than it must, so that the differences are the server's.
type Load struct {
	server  *httptest.Server
	request []byte
	want    int
	conns   []*wire
	client  *http.Client
	url     string
}

// Serve starts a server for requests of one path. Every answer must have the status want, but for the first: a limit of one
// is used up by it.
func Serve(h http.Handler, path string, want int) *Load {
	l := &Load{server: httptest.NewServer(h), request: request(path), want: want}
	for range Connections {
		conn := must(net.Dial("tcp", l.server.Listener.Addr().String()))
		l.conns = append(l.conns, &wire{conn: conn, in: bufio.NewReader(conn)})
	}
	must(l.conns[0].ask(l.request))
	l.url = l.server.URL + path
	l.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: Connections}}
	return l
}

// Work sends n requests over all connections.
func (l *Load) Work(n int) {
	InParallel(n, Connections, func(i int) {
		if status := must(l.conns[i].ask(l.request)); status != l.want {
			panic(fmt.Sprintf("status %d, want %d", status, l.want))
		}
	})
}

// GoWork is Work by net/http's client, as Go programs ask: more than half of the work is then the client's.
func (l *Load) GoWork(n int) {
	InParallel(n, Connections, func(int) {
		r := must(l.client.Get(l.url))
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
		if r.StatusCode != l.want {
			panic(fmt.Sprintf("status %d, want %d", r.StatusCode, l.want))
		}
	})
}

// Close ends the connections and the server.
func (l *Load) Close() {
	l.client.CloseIdleConnections()
	for _, c := range l.conns {
		_ = c.conn.Close()
	}
	l.server.Close()
}

type wire struct {
	conn net.Conn
	in   *bufio.Reader
}

func request(path string) []byte {
	return []byte("GET " + path + " HTTP/1.1\r\nHost: bank.example\r\nUser-Agent: bench\r\nAccept: application/json\r\n\r\n")
}

var contentLength = []byte("Content-Length: ")

// ask sends a request and reads the answer, which must say its length.
func (w *wire) ask(request []byte) (status int, err error) {
	if _, err := w.conn.Write(request); err != nil {
		return 0, err
	}
	line, err := w.in.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	status = must(strconv.Atoi(string(line[9:12])))
	length := 0
	for len(line) > 2 {
		if line, err = w.in.ReadSlice('\n'); err != nil {
			return 0, err
		}
		if bytes.HasPrefix(line, contentLength) {
			length = must(strconv.Atoi(string(bytes.TrimSpace(line[len(contentLength):]))))
		}
	}
	_, err = w.in.Discard(length)
	return status, err
}

// Servers are started one by one and closed together. They are asked by the bare client, or by Go's own.
type Servers struct {
	GoClient bool
	loads    []*Load
}

// Contender starts a server for a handler.
func (s *Servers) Contender(name string, h http.Handler, path string, want int) Contender {
	l := Serve(h, path, want)
	s.loads = append(s.loads, l)
	if s.GoClient {
		return Contender{name, l.GoWork}
	}
	return Contender{name, l.Work}
}

// HTTPContenders are the rows of the HTTP table, the bare router first.
func (s *Servers) HTTPContenders() []Contender {
	return []Contender{
		s.Contender("bare chi, 200", Bare(), "/rates", 200),
		s.Contender("httprate, admitted", HTTPRate(Quota), "/rates", 200),
		s.Contender("bankapi limiter, admitted", Limited(Quota), "/rates", 200),
		s.Contender("httprate, refused", HTTPRate(1), "/rates", 429),
		s.Contender("bankapi limiter, refused", Limited(1), "/rates", 429),
		s.Contender("whole bank, admitted (404)", Product(Quota), "/nothing-here", 404),
		s.Contender("whole bank, refused", Product(1), "/rates", 429),
	}
}

// Close ends them all.
func (s *Servers) Close() {
	for _, l := range s.loads {
		l.Close()
	}
}
