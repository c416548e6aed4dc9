package main

import (
	"context"
	"fmt"
	"net"
	"strings"
	"text/template"

	"github.com/jackc/pgx/v5/pgxpool"
)

// welcome prints where the bank is and lines to try it with.
func welcome(ctx context.Context, p *program, doors *doors, db *database, pool *pgxpool.Pool, demo seeded) error {
	var serverVersion string
	if err := pool.QueryRow(ctx, "SHOW server_version").Scan(&serverVersion); err != nil {
		return fmt.Errorf("ask the database's version: %w", err)
	}
	number, _, _ := strings.Cut(serverVersion, " ")
	w := welcomePage{
		Version: versionOf(), API: "http://" + reachable(doors.api.Addr().String()), Admin: "off",
		Database: "PostgreSQL " + number + where(p, db, pool), Limits: limitsLine(p),
		Demo: p.demo, Password: demoPassword, Users: strings.Join(demoUsers, ", "),
		From: demo.from.String(), To: demo.to.String(), APIKey: demo.apiKey,
	}
	if doors.admin != nil {
		w.Admin = "http://" + reachable(doors.admin.Addr().String()) + "   /metrics, /integrity, /debug/pprof/"
	}
	if err := welcomeText.Execute(p.out, w); err != nil {
		return fmt.Errorf("print the welcome: %w", err)
	}
	return nil
}

func where(p *program, db *database, pool *pgxpool.Pool) string {
	if db.private != nil {
		return " of its own in " + p.dataDir + ", stopped with the bank"
	}
	c := pool.Config().ConnConfig
	if strings.HasPrefix(c.Host, "/") {
		return " at " + c.Host + ", database " + c.Database
	}
	return " at " + net.JoinHostPort(c.Host, fmt.Sprint(c.Port)) + ", database " + c.Database
}

func limitsLine(p *program) string {
	if p.redisURL == "" {
		return "in this process (set REDIS_URL to share them between processes); log-in and sign-up in PostgreSQL"
	}
	return "in Redis; log-in and sign-up in PostgreSQL"
}

type welcomePage struct {
	Version, API, Admin, Database, Limits string
	Demo                                  bool
	Users, Password, From, To, APIKey     string
}

var welcomeText = template.Must(template.New("welcome").Parse(`bankapi {{.Version}}

  API       {{.API}}   documentation at /docs
  admin     {{.Admin}}
  database  {{.Database}}
  limits    {{.Limits}}
{{- if .Demo}}
  demo      {{.Users}}
            password {{.Password}}
{{- with .APIKey}}
            payroll's API key, shown this once: {{.}}
{{- end}}

Log in as ada, transfer, and ask once too often:

  TOKEN=$(curl -s {{.API}}/sessions -H 'Content-Type: application/json' -d '{"email":"ada@example.com","password":"{{.Password}}"}' | sed 's/.*"token":"\([^"]*\)".*/\1/')

  curl -i {{.API}}/transfers -H "Authorization: Bearer $TOKEN" -H 'Idempotency-Key: first' -H 'Content-Type: application/json' -d '{"from_account":"{{.From}}","to_account":"{{.To}}","amount":100,"currency":"NGN"}'

  for n in 1 2 3; do curl -i {{.API}}/transfers -H "Authorization: Bearer $TOKEN" -H "Idempotency-Key: again-$n" -H 'Content-Type: application/json' -d '{"from_account":"{{.From}}","to_account":"{{.To}}","amount":100,"currency":"NGN"}'; echo; done
{{- end}}

Ctrl-C stops the bank.

`))
