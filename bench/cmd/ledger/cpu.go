package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"example.com/bankapi/internal/load"
)

// process is a server that the benchmark has started.
type process struct {
	address string
	cmd     *exec.Cmd
}

type processes []*process

func (all processes) addresses() (addresses []string) {
	for _, p := range all {
		addresses = append(addresses, p.address)
	}
	return addresses
}

// measured runs a load on servers, and returns what it came to and what it cost.
func (r *runner) measured(ctx context.Context, servers processes, l load.Run, status int) (sample, error) {
	l.Addresses = servers.addresses()
	before, err := r.cost(servers)
	if err != nil {
		return sample{}, err
	}
	result, err := l.Do(ctx)
	if err != nil {
		return sample{}, err
	}
	after, err := r.cost(servers)
	s := ofLoad(result, status)
	s.cpu = cost{after.client - before.client, after.bank - before.bank, after.database - before.database}
	return s, err
}

func (r *runner) cost(servers processes) (c cost, err error) {
	c.client = ownCPU()
	for _, p := range servers {
		used, err := processCPU(p.cmd.Process.Pid)
		if err != nil {
			return c, err
		}
		c.bank += used
	}
	c.database, err = r.server.cpu()
	return c, err
}

// cpu is the processor time that the server's processes have used so far. Those that have ended are in the first one's
// account. It is 0 where the kernel does not tell.
func (s *server) cpu() (time.Duration, error) {
	if runtime.GOOS != "linux" {
		return 0, nil
	}
	first, err := readStat(s.PID())
	if err != nil {
		return 0, err
	}
	total := first.used + first.ofEnded
	names, _ := filepath.Glob("/proc/[0-9]*")
	for _, name := range names {
		pid, _ := strconv.Atoi(filepath.Base(name))
		p, err := readStat(pid)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // it has ended meanwhile
		}
		if err != nil {
			return 0, err
		}
		if p.parent == s.PID() {
			total += p.used
		}
	}
	return total, nil
}

// processCPU is the processor time of one process.
func processCPU(pid int) (time.Duration, error) {
	if runtime.GOOS != "linux" {
		return 0, nil
	}
	p, err := readStat(pid)
	return p.used, err
}

// ownCPU is that of this one.
func ownCPU() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // fails only for a wrong argument
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

type stat struct {
	parent        int
	used, ofEnded time.Duration
}

const tick = time.Second / 100 // the kernel's unit on every architecture that Go knows

// readStat reads /proc/PID/stat: after the command in parentheses come state, parent, and from the 14th field on the
// times in user and kernel mode, own and of children that have ended.
func readStat(pid int) (stat, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, err
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 15 {
		return stat{}, fmt.Errorf("/proc/%d/stat: %q", pid, text)
	}
	var n [4]int64
	for i := range n {
		if n[i], err = strconv.ParseInt(fields[11+i], 10, 64); err != nil {
			return stat{}, err
		}
	}
	parent, err := strconv.Atoi(fields[1])
	return stat{parent, time.Duration(n[0]+n[1]) * tick, time.Duration(n[2]+n[3]) * tick}, err
}
