package load

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"example.com/bankapi/internal/auth"
	"example.com/bankapi/internal/transfers"
)

// Currency is that of every account and transfer.
const Currency = "NGN"

// credit is what each account begins with: no amount of load empties it.
const credit = transfers.MaxAmount

// Member is one account and a credential that may pay from it.
type Member struct {
	Account string // acct_...
	Token   string // an API key of its owner
}

// Crowd is who pays. It has at least two accounts.
type Crowd struct{ Members []Member }

// Gather makes users in an empty, migrated bank, each with an API key and so many accounts full of money. It uses the
// bank's own services, so that users and accounts are like any others, except that their passwords, which nobody will
// use, are hashed as cheaply as can be. made is told of each user; it may be called from several goroutines.
func Gather(ctx context.Context, pool *pgxpool.Pool, users, accountsEach int, made func()) (*Crowd, error) {
	if users < 1 || accountsEach < 1 || users*accountsEach < 2 {
		return nil, fmt.Errorf("a crowd of %d users with %d accounts each cannot pay each other", users, accountsEach)
	}
	people := auth.New(pool, auth.Options{Hash: auth.HashParams{MemoryKiB: 8, Passes: 1, Threads: 1}})
	ledger := transfers.New(pool, transfers.Options{OpeningCredit: credit})
	crowd := &Crowd{Members: make([]Member, users*accountsEach)}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(int(pool.Config().MaxConns))
	for i := range users {
		group.Go(func() error {
			defer made()
			return join(ctx, people, ledger, crowd.Members[i*accountsEach:][:accountsEach])
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("gather a crowd: %w", err)
	}
	return crowd, nil
}

// join signs one user up.
func join(ctx context.Context, people *auth.Service, ledger *transfers.Service, members []Member) error {
	email := "load-" + rand.Text() + "@example.com"
	user, err := people.SignUp(ctx, email, rand.Text())
	if err != nil {
		return err
	}
	_, key, err := people.CreateAPIKey(ctx, auth.Principal{User: user.ID, Email: user.Email, Kind: auth.Session}, "load")
	if err != nil {
		return err
	}
	for i := range members {
		account, err := ledger.OpenAccount(ctx, transfers.OwnerID(user.ID), Currency, "")
		if err != nil {
			return err
		}
		members[i] = Member{Account: account.ID.String(), Token: key}
	}
	return nil
}
