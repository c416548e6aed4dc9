package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"example.com/bankapi/internal/load"
)

// asCeiling is the argument with which this program is the ceiling instead of the benchmark.
const asCeiling = "http-and-json-alone"

// ceiling is a server, in a process of its own as the bank is, that reads transfers and answers 201: nobody is asked for
// credentials, nothing limited, nothing written. No API on net/http and one machine makes more of the same requests.
type ceiling struct {
	process
	input io.Closer // closed, it ends
}

func startCeiling(ctx context.Context) (*ceiling, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &ceiling{process: process{cmd: exec.CommandContext(ctx, program, asCeiling)}}
	c.cmd.Stderr = os.Stderr
	if c.input, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = c.stop()
		return nil, fmt.Errorf("start a server of HTTP and JSON alone: %w", err)
	}
	c.address = strings.TrimSpace(address)
	return c, nil
}

func (c *ceiling) stop() error {
	_ = c.input.Close()
	return c.cmd.Wait()
}

// serveCeiling is the other process: it says where it listens, and ends with its input.
func serveCeiling(input io.Reader, output io.Writer) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: ceilingHandler(), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	fmt.Fprintln(output, listener.Addr())
	_, _ = io.Copy(io.Discard, input)
	return server.Close()
}

func ceilingHandler() http.Handler {
	type transfer struct {
		ID        string    `json:"id"`
		From      string    `json:"from_account"`
		To        string    `json:"to_account"`
		Amount    int64     `json:"amount"`
		Currency  string    `json:"currency"`
		Memo      string    `json:"memo"`
		Status    string    `json:"status"`
		CreatedAt time.Time `json:"created_at"`
	}
	r := chi.NewRouter()
	r.Post("/transfers", func(w http.ResponseWriter, r *http.Request) {
		t := transfer{ID: "tr_00000000000000000000000000", Status: "completed", CreatedAt: time.Now().UTC()}
		if err := json.NewDecoder(r.Body).Decode(&t); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(t)
	})
	return r
}

// httpAndJSON is the ceiling as a contender.
func (r *runner) httpAndJSON(hot bool, connections int) contender {
	return contender{kind: kindCeiling, name: "HTTP and JSON alone", clients: connections, ledger: inNone,
		slice: func(ctx context.Context, warmUp, length time.Duration) (sample, error) {
			return r.measured(ctx, processes{&r.ceiling.process}, load.Run{
				Connections: connections, Requests: r.bank.crowd.Payments(hot), WarmUp: warmUp, Time: length, Watch: r.watch,
			}, http.StatusCreated)
		}}
}
