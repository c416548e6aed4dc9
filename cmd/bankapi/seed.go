package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/bankapi/internal/auth"
	"example.com/bankapi/internal/postgres"
	"example.com/bankapi/internal/transfers"
)

// The demo users. Their password is public: the bank says so at start.
const demoPassword = "correct-horse-battery-staple"

var demoUsers = []string{"ada@example.com", "grace@example.com", "payroll@example.com"}

// demoAccounts is what each of them has, with money from the currency's system account.
var demoAccounts = []struct {
	currency, name string
	credit         transfers.Amount
}{
	{"NGN", "Current", 500_000_00},
	{"NGN", "Savings", 2_000_000_00},
	{"EUR", "Euro", 1_000_00},
}

// seeded is what there is to tell after seeding.
type seeded struct {
	from, to transfers.AccountID // ada's NGN accounts
	apiKey   string              // payroll's, "" if it was made by an earlier run
}

type seedCommand struct{}

func (seedCommand) Run(ctx context.Context, p *program) (err error) {
	db, err := joinDatabase(ctx, p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.stop()) }()
	if err := migrate(ctx, p, db.url); err != nil {
		return err
	}
	pool, err := postgres.Open(ctx, db.url, postgres.Options{AppName: "bankapi-seed", MaxConns: 2})
	if err != nil {
		return err
	}
	defer pool.Close()
	made, err := seed(ctx, pool)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.out, "demo users %s, %s and %s, password %s\n", demoUsers[0], demoUsers[1], demoUsers[2], demoPassword)
	fmt.Fprintf(p.out, "ada's NGN accounts %s and %s\n", made.from, made.to)
	if made.apiKey != "" {
		fmt.Fprintf(p.out, "payroll's API key, shown this once: %s\n", made.apiKey)
	}
	return nil
}

// seed adds what is missing of the demo data. Processes that seed at once take turns.
func seed(ctx context.Context, pool *pgxpool.Pool) (seeded, error) {
	const lock = `SELECT pg_advisory_lock(hashtext('bankapi seed'))`
	turn, err := pool.Acquire(ctx)
	if err != nil {
		return seeded{}, fmt.Errorf("seed: %w", err)
	}
	defer func() { // the lock ends with its connection
		conn := turn.Hijack()
		_ = conn.Close(context.WithoutCancel(ctx))
	}()
	if _, err := turn.Exec(ctx, lock); err != nil {
		return seeded{}, fmt.Errorf("seed: %w", err)
	}
	var made seeded
	for _, email := range demoUsers {
		if err := seedUser(ctx, pool, email, &made); err != nil {
			return seeded{}, fmt.Errorf("seed %s: %w", email, err)
		}
	}
	return made, nil
}

func seedUser(ctx context.Context, pool *pgxpool.Pool, email string, made *seeded) error {
	users := auth.New(pool, auth.Options{})
	user, isNew, err := findOrSignUp(ctx, pool, users, email)
	if err != nil {
		return err
	}
	if isNew && email == "payroll@example.com" {
		payroll := auth.Principal{User: user, Email: email, Kind: auth.Session}
		if _, made.apiKey, err = users.CreateAPIKey(ctx, payroll, "payroll run"); err != nil {
			return err
		}
	}
	accounts, err := seedAccounts(ctx, pool, transfers.OwnerID(user))
	if err == nil && email == "ada@example.com" {
		made.from, made.to = accounts[0], accounts[1]
	}
	return err
}

func findOrSignUp(ctx context.Context, pool *pgxpool.Pool, users *auth.Service, email string) (user auth.UserID, isNew bool, err error) {
	const find = `SELECT id FROM users WHERE email = $1`
	err = pool.QueryRow(ctx, find, email).Scan(&user)
	if !errors.Is(err, pgx.ErrNoRows) {
		return user, false, err
	}
	signedUp, err := users.SignUp(ctx, email, demoPassword)
	return signedUp.ID, true, err
}

// seedAccounts returns one account for each of demoAccounts, in their order.
func seedAccounts(ctx context.Context, pool *pgxpool.Pool, owner transfers.OwnerID) ([]transfers.AccountID, error) {
	have, err := transfers.New(pool, transfers.Options{}).Accounts(ctx, owner)
	if err != nil {
		return nil, err
	}
	var ids []transfers.AccountID
	for _, want := range demoAccounts {
		account, found := findAccount(have, want.currency, want.name)
		if !found {
			bank := transfers.New(pool, transfers.Options{OpeningCredit: want.credit})
			if account, err = bank.OpenAccount(ctx, owner, want.currency, want.name); err != nil {
				return nil, err
			}
		}
		ids = append(ids, account.ID)
	}
	return ids, nil
}

func findAccount(accounts []transfers.Account, currency, name string) (transfers.Account, bool) {
	for _, a := range accounts {
		if a.Currency == currency && a.Name == name {
			return a, true
		}
	}
	return transfers.Account{}, false
}
