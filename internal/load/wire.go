package load

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"
)

// wire is a kept-alive connection. It costs as little as a client can, so that the machine is left to the server.
type wire struct {
	conn net.Conn
	in   *bufio.Reader
}

// dial opens n connections, to each address in turn.
func dial(ctx context.Context, addresses []string, n int) ([]*wire, error) {
	wires := make([]*wire, 0, n)
	for i := range n {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", addresses[i%len(addresses)])
		if err != nil {
			hangUp(wires)
			return nil, err
		}
		wires = append(wires, &wire{conn: conn, in: bufio.NewReader(conn)})
	}
	return wires, nil
}

func hangUp(wires []*wire) {
	for _, w := range wires {
		_ = w.conn.Close() // every answer that counts was read
	}
}

// expire ends every wait on these connections at a moment.
func expire(wires []*wire, at time.Time) {
	for _, w := range wires {
		_ = w.conn.SetDeadline(at) // fails only for a closed connection
	}
}

var (
	contentLength = []byte("Content-Length: ")
	errNoLength   = errors.New("the answer does not say its length")
)

// ask sends a request and reads the answer, which must say its length.
func (w *wire) ask(request []byte) (status int, err error) {
	if _, err := w.conn.Write(request); err != nil {
		return 0, err
	}
	line, err := w.in.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	if len(line) < len("HTTP/1.1 200") {
		return 0, fmt.Errorf("no answer in HTTP: %q", line)
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, err
	}
	length := -1
	for len(line) > len("\r\n") {
		if line, err = w.in.ReadSlice('\n'); err != nil {
			return 0, err
		}
		if bytes.HasPrefix(line, contentLength) {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(line[len(contentLength):]))); err != nil {
				return 0, err
			}
		}
	}
	if length < 0 {
		return 0, errNoLength
	}
	_, err = w.in.Discard(length)
	return status, err
}
