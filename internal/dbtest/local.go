package dbtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"

	"example.com/bankapi/internal/postgres/embedded"
)

// localPostgres runs PostgreSQL's binaries in a temporary directory.
type localPostgres struct {
	options embedded.Options
	server  *embedded.Server
}

const reapPostgres = `
kill -QUIT "$(head -n 1 "$1/postgres/postmaster.pid")" 2>/dev/null
while kill -0 "$(head -n 1 "$1/postgres/postmaster.pid" 2>/dev/null)" 2>/dev/null; do sleep 0.1; done
rm -rf "$1" "$2"`

func newLocalPostgres() (*localPostgres, error) {
	dir, err := os.MkdirTemp("", "bankapi-test-pg-")
	if err != nil {
		return nil, err
	}
	sockets, err := os.MkdirTemp("/tmp", "bankapi-test-sock-")
	if err != nil {
		return nil, err
	}
	if err := whenWeEnd(reapPostgres, dir, sockets); err != nil {
		return nil, err
	}
	p := &localPostgres{options: embedded.Options{
		Dir: dir, SocketDir: sockets, Throwaway: true,
		Settings: []string{"max_connections=300", "shared_buffers=64MB", "autovacuum_naptime=10s"},
	}}
	return p, p.start()
}

func (p *localPostgres) url() string { return p.server.URL() }

func (p *localPostgres) start() (err error) {
	p.server, err = embedded.Start(context.Background(), p.options)
	return err
}

func (p *localPostgres) stop() error { return p.server.Stop() }

func (p *localPostgres) kill() error {
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.server.Done()
	return p.server.Stop() // nothing runs any more; this lets go of the directory
}

func (p *localPostgres) pause() error  { return p.signal(syscall.SIGSTOP) }
func (p *localPostgres) resume() error { return p.signal(syscall.SIGCONT) }

// signal reaches the server and its backends, each of which is a process group of its own.
func (p *localPostgres) signal(sig syscall.Signal) error {
	select {
	case <-p.server.Done():
		return os.ErrProcessDone
	default:
	}
	pid := p.server.PID()
	pids := []int{pid}
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid)) // Linux only; else the server alone
	for _, child := range strings.Fields(string(children)) {
		if n, err := strconv.Atoi(child); err == nil {
			pids = append(pids, n)
		}
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	return nil
}

// localRedis runs redis-server on a port of its own.
type localRedis struct {
	port string
	dir  string
	cmd  *exec.Cmd
}

const reapRedis = `
kill -KILL "$(cat "$1/redis.pid")" 2>/dev/null
rm -rf "$1"`

func newLocalRedis() (*localRedis, error) {
	dir, err := os.MkdirTemp("", "bankapi-test-redis-")
	if err != nil {
		return nil, err
	}
	if err := whenWeEnd(reapRedis, dir); err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	r := &localRedis{port: port, dir: dir}
	return r, r.start()
}

func (r *localRedis) url() string { return "redis://127.0.0.1:" + r.port + "/0" }

func (r *localRedis) start() error {
	r.cmd = exec.Command("redis-server", append([]string{
		"--bind", "127.0.0.1", "--port", r.port, "--dir", r.dir, "--pidfile", filepath.Join(r.dir, "redis.pid"),
		"--logfile", filepath.Join(r.dir, "redis.log"),
	}, redisArgs...)...)
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := r.cmd.Start(); err != nil {
		return err
	}
	return awaitRedis(r.url())
}

func (r *localRedis) stop() error   { return r.end(syscall.SIGTERM) }
func (r *localRedis) kill() error   { return r.end(syscall.SIGKILL) }
func (r *localRedis) pause() error  { return r.cmd.Process.Signal(syscall.SIGSTOP) }
func (r *localRedis) resume() error { return r.cmd.Process.Signal(syscall.SIGCONT) }

func (r *localRedis) end(sig syscall.Signal) error {
	if err := r.cmd.Process.Signal(sig); err != nil {
		return err
	}
	_ = r.cmd.Wait() // says that it was killed
	return nil
}

func awaitRedis(server string) error {
	options, err := redis.ParseURL(server)
	if err != nil {
		return err
	}
	client := redis.NewClient(options)
	defer client.Close()
	return await(func(ctx context.Context) error { return client.Ping(ctx).Err() })
}

// freePort names a port that nobody listened on a moment ago.
func freePort() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	return port, err
}
