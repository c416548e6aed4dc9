// Command bankapi is a bank behind an HTTP API: `bankapi serve` starts it, `bankapi --help` tells the rest.
//
// run.go is the program, config.go every setting it has, serve.go where the parts are wired together.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the first signal asks for an orderly end, a second one is not caught any more
	os.Exit(run(ctx, os.Args[1:], os.LookupEnv, os.Stdout, os.Stderr))
}
