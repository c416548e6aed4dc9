// Package migrations holds the schema as numbered SQL files, embedded into the program.
//
// NNNN_what.up.sql brings the schema forward, NNNN_what.down.sql takes it back. A file runs as one implicit
// transaction: it holds no BEGIN or COMMIT and nothing that refuses to run inside one (CREATE INDEX CONCURRENTLY), and
// so it is applied wholly or not at all. A file that has shipped is never edited; postgres.Migrate applies them.
package migrations

import "embed"

// FS holds every migration at its root.
//
//go:embed *.sql
var FS embed.FS
