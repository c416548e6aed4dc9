package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"strings"

	"github.com/alecthomas/kong"

	"example.com/bankapi/internal/telemetry"
)

// version is set by the linker; see Makefile.
var version = ""

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2 // wrong settings, nothing was done
)

const description = `A bank behind an HTTP API, with limits that hold.

It needs nothing to start: without DATABASE_URL it runs a private PostgreSQL in .bankapi/, without REDIS_URL it counts
in memory. Every flag can be set in the environment too, under the name after it; what the command line says counts.

Examples:

  bankapi serve                                     a bank on http://127.0.0.1:8080 with demo users
  bankapi serve --listen 127.0.0.1:0                on a free port, which is printed
  DATABASE_URL=postgres://bank@db/bank REDIS_URL=redis://cache bankapi serve --demo off
  bankapi migrate status                            how far the schema has come
  bankapi verify                                    audit the ledger; also while the bank runs
  bankapi limits explain POST /transfers --user usr_...   which limits a request meets, and what they would answer`

// cli is the grammar of the command line.
type cli struct {
	Config

	Serve       serveCommand       `cmd:"" help:"Start the bank."`
	Migrate     migrateCommand     `cmd:"" help:"Bring the database schema up or down. Serve does the former by itself."`
	Seed        seedCommand        `cmd:"" help:"Add the demo users, their accounts and payroll's API key. What is there stays."`
	Verify      verifyCommand      `cmd:"" help:"Audit the whole ledger; exit 1 if it does not add up."`
	Limits      limitsCommand      `cmd:"" help:"Show and check the policy file; explain, inspect and reset the limits of a running bank."`
	Simulate    simulateCommand    `cmd:"" help:"Show what limits do: the lesson's experiments, or traffic of your own."`
	Capacity    capacityCommand    `cmd:"" help:"Work out what a load needs, what the database can carry and where to set the global limit."`
	Healthcheck healthcheckCommand `cmd:"" help:"Ask the bank on --listen whether it can serve; exit 1 if not. For containers."`
	Version     versionCommand     `cmd:"" help:"Print the version."`
}

// program is what every command is given.
type program struct {
	settings
	log *slog.Logger
	out io.Writer // what was asked for; the log goes to standard error
}

// run is the program. It returns the exit code.
func run(ctx context.Context, args []string, lookUp func(string) (string, bool), stdout, stderr io.Writer) int {
	var line cli
	exit := -1
	parser, err := kong.New(&line,
		kong.Name("bankapi"), kong.Description(description),
		kong.Writers(stdout, stderr), kong.Exit(func(code int) { exit = code }),
		kong.Groups{"database": "Database:", "http": "HTTP:", "limits": "Limits and demo data:", "webhooks": "Webhooks:", "mail": "Mail:", "fault": "To try crashes, with --demo on only:", "log": "Log:"},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 100}),
		environmentFrom(lookUp), kong.BindTo(ctx, (*context.Context)(nil)))
	if err != nil {
		panic(err) // the grammar is wrong, and a test would have found it
	}
	command, err := parser.Parse(args)
	if exit >= 0 { // --help
		return exit
	}
	if err != nil {
		fmt.Fprintf(stderr, "bankapi: %v\nTry: bankapi --help\n", err)
		return exitUsage
	}
	set, faults := line.check()
	if len(faults) > 0 {
		for _, fault := range faults {
			fmt.Fprintf(stderr, "bankapi: %v\n", fault)
		}
		return exitUsage
	}
	log, err := telemetry.NewLogger(stderr, line.LogFormat, line.LogLevel)
	if err != nil {
		panic(err) // check has seen to that
	}
	err = command.Run(&program{settings: set, log: log, out: stdout})
	switch {
	case err == nil, ctx.Err() != nil && errors.Is(err, context.Canceled): // asked to stop while it started
		return exitOK
	default:
		fmt.Fprintf(stderr, "bankapi: %s\n", strings.ReplaceAll(err.Error(), "\n", "\n  "))
		return exitFailed
	}
}

// environmentFrom has kong read the environment through lookUp instead of the process's own.
func environmentFrom(lookUp func(string) (string, bool)) kong.Option {
	names := map[*kong.Value]string{}
	return kong.OptionFunc(func(k *kong.Kong) error {
		for _, option := range []kong.Option{
			kong.PostBuild(func(k *kong.Kong) error {
				for _, flag := range k.Model.Flags {
					if len(flag.Tag.Envs) > 0 {
						names[flag.Value], flag.Tag.Envs = flag.Tag.Envs[0], nil
					}
				}
				return nil
			}),
			kong.Resolvers(kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
				if value, ok := lookUp(names[flag.Value]); ok && value != "" { // empty means not set, as compose files have it
					return value, nil
				}
				return nil, nil
			})),
			kong.ValueFormatter(func(v *kong.Value) string { return explain(v, names[v]) }),
		} {
			if err := option.Apply(k); err != nil {
				return err
			}
		}
		return nil
	})
}

// explain is a flag's line in --help.
func explain(v *kong.Value, name string) string {
	switch {
	case name == "":
		return v.Help
	case v.Default == "":
		return fmt.Sprintf("%s [%s]", v.Help, name)
	}
	return fmt.Sprintf("%s [%s, default %s]", v.Help, name, v.Default)
}

type versionCommand struct{}

// Run prints what the linker was told, else what Go knows of the source.
func (versionCommand) Run(p *program) error {
	_, err := fmt.Fprintln(p.out, "bankapi", versionOf())
	return err
}

func versionOf() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return strings.Trim(info.Main.Version, "()") // "(devel)" in a work tree
	}
	return "unknown"
}
