package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"time"
)

// redisServer returns the server that REDIS_URL names, or starts one that keeps nothing. stop ends what was started.
func redisServer() (url string, stop func(), err error) {
	if url := os.Getenv("REDIS_URL"); url != "" {
		return url, func() {}, nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	address := l.Addr().String()
	_ = l.Close() // redis-server takes the port over
	_, port, _ := net.SplitHostPort(address)
	server := exec.Command("redis-server", "--bind", "127.0.0.1", "--port", port, "--save", "", "--appendonly", "no")
	if err := server.Start(); err != nil {
		return "", nil, fmt.Errorf("set REDIS_URL or install redis-server: %w", err)
	}
	stop = func() {
		_ = server.Process.Signal(os.Interrupt)
		_ = server.Wait()
	}
	for range 100 {
		if conn, err := net.Dial("tcp", address); err == nil {
			_ = conn.Close()
			return "redis://" + address, stop, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	stop()
	return "", nil, fmt.Errorf("redis-server does not answer on %s", address)
}
