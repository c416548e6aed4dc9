package postgres

import (
	"context"
	"fmt"

	"github.com/golang-migrate/migrate/v4/source/iofs"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/bankapi/migrations"
)

const selectVersion = `
SELECT version, dirty
  FROM schema_migrations`

// Ready returns a check for health pages: nil when the database answers and its schema is fit for this program.
func Ready(pool *pgxpool.Pool) (func(context.Context) error, error) {
	files, err := iofs.New(migrations.FS, ".")
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	latest, err := newest(files)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		state := State{Latest: latest}
		if err := pool.QueryRow(ctx, selectVersion).Scan(&state.Version, &state.Dirty); err != nil {
			return fmt.Errorf("read schema version: %w", err)
		}
		if !state.Current() {
			return fmt.Errorf("schema is at version %d, this program needs %d", state.Version, latest)
		}
		return nil
	}, nil
}
