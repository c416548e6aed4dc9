package main

import (
	"net"
	"sync"
)

// crowdedListener lets so many connections be open at a time. The next callers wait in the kernel's queue until one is
// closed: a connection costs memory and a descriptor before any limit has seen its request.
type crowdedListener struct {
	net.Listener
	slots  chan struct{}
	closed chan struct{}
	close  sync.Once
}

func limitConnections(l net.Listener, most int) net.Listener {
	return &crowdedListener{Listener: l, slots: make(chan struct{}, most), closed: make(chan struct{})}
}

func (l *crowdedListener) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &slottedConn{Conn: conn, slots: l.slots}, nil
}

// Close also ends an Accept that waits for a slot.
func (l *crowdedListener) Close() error {
	l.close.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// slottedConn gives its slot back when it is closed, once.
type slottedConn struct {
	net.Conn
	slots chan struct{}
	once  sync.Once
}

func (c *slottedConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { <-c.slots })
	return err
}
