package main

import (
	"errors"
	"net"
	"testing"
	"time"
)

func TestNoMoreConnectionsThanAllowed(t *testing.T) {
	t.Parallel()
	inner, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener := limitConnections(inner, 2)
	accepted, ended := make(chan net.Conn, 10), make(chan error, 1)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				ended <- err
				return
			}
			accepted <- conn
		}
	}()
	for range 4 {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
	first := <-accepted
	<-accepted
	stay := func() {
		t.Helper()
		select {
		case <-accepted:
			t.Error("one connection too many")
		case <-time.After(50 * time.Millisecond):
		}
	}
	stay()
	_ = first.Close()
	_ = first.Close() // gives back one slot, not two
	<-accepted
	stay()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, net.ErrClosed) { // not only when the next slot is free
		t.Errorf("Accept ended with %v, want net.ErrClosed", err)
	}
}
