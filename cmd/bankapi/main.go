// Command bankapi is a bank behind an HTTP API: `bankapi serve` starts it, `bankapi --help` tells the rest.
//
// run.go is the program, config.go every setting it has, serve.go where the parts are wired together.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

func main() {
	spareProcessor()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the first signal asks for an orderly end, a second one is not caught any more
	os.Exit(run(ctx, os.Args[1:], os.LookupEnv, os.Stdout, os.Stderr))
}

// spareProcessor has Go use one processor more than there are, unless GOMAXPROCS says otherwise. With all of them busy, what arrives
// from the database is looked at when one has nothing else left to run, and all transfers wait for that. With one to
// spare a thread sleeps in the kernel until it arrives, and the kernel runs it at once.
func spareProcessor() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	}
}
