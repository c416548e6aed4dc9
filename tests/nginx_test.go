package tests

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The lines of deploy/nginx that tests replace. A test fails when the line is not there.
const (
	edgeListen   = "listen 127.0.0.1:8000;"
	edgeRate     = "rate=200r/s;"
	edgeBurst    = "zone=edge burst=599 nodelay;"
	edgeUpstream = "server 127.0.0.1:8080;"
)

// edge starts a real nginx with the configuration of deploy/nginx, on a port of its own, in front of the given servers.
// edits are old, new pairs. It returns the address; the process ends with the test.
func edge(t *testing.T, upstreams []string, edits ...string) string {
	t.Helper()
	path := nginx(t)
	dir, at := t.TempDir(), freePort(t)
	servers := make([]string, len(upstreams))
	for i, u := range upstreams {
		servers[i] = fmt.Sprintf("server %s;", strings.TrimPrefix(u, "http://"))
	}
	copyEdited(t, "nginx.conf", dir, edits...)
	copyEdited(t, "listen.conf", dir, edgeListen, fmt.Sprintf("listen %s;", at))
	copyEdited(t, "upstream.conf", dir, edgeUpstream, strings.Join(servers, "\n"))

	var log bytes.Buffer
	cmd := exec.Command(path, "-p", dir, "-c", filepath.Join(dir, "nginx.conf"), "-e", "stderr", "-g", "daemon off;")
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("nginx:\n%s", log.String())
		}
	})
	awaitListener(t, at)
	return "http://" + at
}

func nginx(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"nginx", "/usr/sbin/nginx"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("nginx is missing: sudo apt-get install --yes --no-install-recommends nginx-light")
	return ""
}

// copyEdited copies a file of deploy/nginx with the replacements made. Each must apply exactly once.
func copyEdited(t *testing.T, name, dir string, edits ...string) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "deploy", "nginx", name))
	if err != nil {
		t.Fatal(err)
	}
	text := string(content)
	for i := 0; i+1 < len(edits); i += 2 {
		if n := strings.Count(text, edits[i]); n != 1 {
			t.Fatalf("%s contains %q %d times, want once", name, edits[i], n)
		}
		text = strings.Replace(text, edits[i], edits[i+1], 1)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func awaitListener(t *testing.T, address string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			return
		}
	}
	t.Fatalf("nginx does not listen on %s", address)
}
