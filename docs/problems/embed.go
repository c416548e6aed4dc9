// Package problems holds a page for each kind of error a client can meet. The server serves them at /problems/{slug},
// where the "type" of an error leads. README.md is their index, for readers of the source.
package problems

import "embed"

// FS has the pages as {slug}.md. Every slug has a hyphen in it, which keeps README.md out.
//
//go:embed *-*.md
var FS embed.FS
