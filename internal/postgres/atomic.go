package postgres

import (
	"bytes"
	"fmt"
	"io"

	"github.com/golang-migrate/migrate/v4/database"
)

// atomicDriver records a version in the same transaction as the migration that leads to it.
//
// golang-migrate marks the database dirty, runs the file and clears the mark, in three transactions: a failure or a
// kill in between leaves a mark that only a person can judge. PostgreSQL runs a whole file as one transaction, so the
// version is appended to the file instead and the mark is never made: a broken-off migration did not happen.
type atomicDriver struct {
	database.Driver
	target int
}

var _ database.Driver = (*atomicDriver)(nil)

// SetVersion notes the version a migration is about to lead to (dirty), or records it.
func (d *atomicDriver) SetVersion(version int, dirty bool) error {
	if dirty {
		d.target = version
		return nil
	}
	return d.Driver.SetVersion(version, false)
}

// Run applies one file together with its version.
func (d *atomicDriver) Run(migration io.Reader) error {
	var file bytes.Buffer
	if _, err := file.ReadFrom(migration); err != nil {
		return fmt.Errorf("read migration: %w", err)
	}
	file.WriteString("\n;\nTRUNCATE schema_migrations;\n")
	if d.target != database.NilVersion {
		fmt.Fprintf(&file, "INSERT INTO schema_migrations (version, dirty) VALUES (%d, false);\n", d.target)
	}
	return d.Driver.Run(&file)
}
