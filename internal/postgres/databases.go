package postgres

import (
	"context"
	"net/url"

	"github.com/jackc/pgx/v5"
)

// OnDatabase is a connection string with another database of the same server, in either of the two ways to write one.
func OnDatabase(databaseURL, name string) string {
	u, err := url.Parse(databaseURL)
	if err != nil || u.Scheme == "" {
		return databaseURL + " dbname=" + name // the last one counts
	}
	u.Path = "/" + name
	return u.String()
}

// Execute runs a statement on a connection of its own and in no transaction, as CREATE DATABASE needs it.
func Execute(ctx context.Context, databaseURL, sql string) error {
	conn, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, sql)
	return err
}
