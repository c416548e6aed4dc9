package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/bankapi/internal/dbtest"
)

// environment makes a look-up of NAME=value settings. The process's own environment is never asked.
func environment(settings ...string) func(string) (string, bool) {
	values := map[string]string{}
	for _, s := range settings {
		name, value, _ := strings.Cut(s, "=")
		values[name] = value
	}
	return func(name string) (string, bool) {
		value, ok := values[name]
		return value, ok
	}
}

func bankapi(t *testing.T, settings []string, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = run(t.Context(), args, environment(settings...), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

func TestHelpNamesEverySettingAndCommand(t *testing.T) {
	t.Parallel()
	code, out, _ := bankapi(t, nil, "--help")
	if code != exitOK {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{
		"Examples:", "serve", "migrate", "seed", "verify", "version", "DATABASE_URL", "REDIS_URL", "TRUSTED_PROXIES",
		"BANKAPI_LISTEN", "BANKAPI_ADMIN_LISTEN", "BANKAPI_DATA_DIR", "127.0.0.1:8080",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("--help does not say %s", want)
		}
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	if code, out, _ := bankapi(t, nil, "version"); code != exitOK || !strings.HasPrefix(out, "bankapi ") {
		t.Errorf("%d %q", code, out)
	}
}

func TestAllFaultsOfTheSettingsComeAtOnceOnALineEach(t *testing.T) {
	t.Parallel()
	code, _, errs := bankapi(t, []string{
		"DATABASE_URL=mysql://root:hunter2@x", "REDIS_URL=http://:hunter2@x", "TRUSTED_PROXIES=0.0.0.0/0,nonsense",
		"BANKAPI_ADMIN_LISTEN=8081", "BANKAPI_OPENING_CREDIT=1.5", "BANKAPI_DEMO=perhaps", "BANKAPI_BEHIND_TLS=2",
		"BANKAPI_SHUTDOWN_GRACE=20", "BANKAPI_MAX_CONNECTIONS=0", "BANKAPI_FLEET_SIZE=none", "BANKAPI_REQUEST_TIMEOUT=-1s", "BANKAPI_LOG_FORMAT=xml", "BANKAPI_LOG_LEVEL=loud",
		"BANKAPI_ALLOWED_ORIGINS=https://bank.example/path",
	}, "serve", "--listen", "nonsense")
	if code != exitUsage {
		t.Errorf("exit code %d, want %d", code, exitUsage)
	}
	names := []string{
		"DATABASE_URL", "REDIS_URL", "TRUSTED_PROXIES", "BANKAPI_LISTEN", "BANKAPI_ADMIN_LISTEN", "BANKAPI_OPENING_CREDIT",
		"BANKAPI_DEMO", "BANKAPI_BEHIND_TLS", "BANKAPI_SHUTDOWN_GRACE", "BANKAPI_MAX_CONNECTIONS", "BANKAPI_FLEET_SIZE", "BANKAPI_REQUEST_TIMEOUT", "BANKAPI_LOG_FORMAT",
		"BANKAPI_LOG_LEVEL", "BANKAPI_ALLOWED_ORIGINS",
	}
	for _, name := range names {
		if !strings.Contains(errs, "("+name+")") {
			t.Errorf("no fault for %s", name)
		}
	}
	if lines := strings.Count(errs, "\n"); lines != len(names) {
		t.Errorf("%d lines for %d faults:\n%s", lines, len(names), errs)
	}
	if strings.Contains(errs, "hunter2") {
		t.Errorf("a password is shown:\n%s", errs)
	}
}

func TestTheCommandLineGoesBeforeTheEnvironmentAndEmptyMeansNotSet(t *testing.T) {
	t.Parallel()
	code, _, errs := bankapi(t, []string{"BANKAPI_LISTEN=from-environment", "BANKAPI_ADMIN_LISTEN=", "DATABASE_URL="}, "serve", "--listen", "from-flag")
	if code != exitUsage || !strings.Contains(errs, "from-flag") || strings.Contains(errs, "from-environment") {
		t.Errorf("%d %s", code, errs)
	}
	if lines := strings.Count(errs, "\n"); lines != 1 {
		t.Errorf("want the one fault of --listen:\n%s", errs)
	}
}

func TestUnknownFlagsAndCommandsAreRefusedBriefly(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"serve", "--no-such-flag"}, {"no-such-command"}, {}} {
		code, _, errs := bankapi(t, nil, args...)
		if code != exitUsage || strings.Count(errs, "\n") > 3 {
			t.Errorf("%v: %d %s", args, code, errs)
		}
	}
}

func TestAnAddressInUseIsOneClearLine(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	dir := filepath.Join(t.TempDir(), "data")
	code, _, errs := bankapi(t, []string{"BANKAPI_DATA_DIR=" + dir}, "serve", "--listen", taken.Addr().String())
	if code != exitFailed || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, taken.Addr().String()+" is in use") {
		t.Errorf("%d %s", code, errs)
	}
	if found, _ := filepath.Glob(dir); found != nil {
		t.Error("a data directory was made all the same")
	}
}

func TestSeedingTwiceAddsNothing(t *testing.T) {
	t.Parallel()
	url := "DATABASE_URL=" + dbtest.EmptyURL(t)
	_, first, errs := bankapi(t, []string{url}, "seed")
	if !strings.Contains(first, "bank_key_") || !strings.Contains(first, demoPassword) {
		t.Fatalf("first: %s%s", first, errs)
	}
	code, verified, errs := bankapi(t, []string{url}, "verify")
	if code != exitOK || !strings.Contains(verified, "9 transfers") {
		t.Errorf("verify: %d %s%s", code, verified, errs)
	}
	code, second, errs := bankapi(t, []string{url}, "seed")
	if code != exitOK || strings.Contains(second, "bank_key_") {
		t.Errorf("second: %d %s%s", code, second, errs)
	}
	if _, again, _ := bankapi(t, []string{url}, "verify"); again != verified {
		t.Errorf("before %s after %s", verified, again)
	}
}

func TestVerifyFailsOnALedgerThatDoesNotAddUp(t *testing.T) {
	t.Parallel()
	database := dbtest.EmptyURL(t)
	if code, _, errs := bankapi(t, []string{"DATABASE_URL=" + database}, "seed"); code != exitOK {
		t.Fatal(errs)
	}
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	for _, sql := range []string{
		"SET session_replication_role = replica", // a vandal with the database's own keys
		"UPDATE accounts SET balance = balance + 1 WHERE name = 'Savings'",
	} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	code, out, errs := bankapi(t, []string{"DATABASE_URL=" + database}, "verify")
	if code != exitFailed || !strings.Contains(out, "FAULT") {
		t.Errorf("%d %s%s", code, out, errs)
	}
}

func TestMigrateTellsWhereTheSchemaStands(t *testing.T) {
	t.Parallel()
	settings := []string{"DATABASE_URL=" + dbtest.EmptyURL(t)}
	for _, step := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"migrate", "status"}, exitFailed, "schema version 0"},
		{[]string{"migrate", "up"}, exitOK, "schema version"},
		{[]string{"migrate", "status"}, exitOK, "schema version"},
		{[]string{"migrate", "down", "100"}, exitOK, "schema version 0"},
		{[]string{"migrate", "status"}, exitFailed, "schema version 0"},
	} {
		if code, out, errs := bankapi(t, settings, step.args...); code != step.code || !strings.Contains(out, step.says) {
			t.Errorf("%v: %d %s%s", step.args, code, out, errs)
		}
	}
}

func TestNoBankIsMadeByLookingForOne(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "none")
	for _, args := range [][]string{{"verify"}, {"migrate", "status"}, {"migrate", "down"}} {
		code, _, errs := bankapi(t, []string{"BANKAPI_DATA_DIR=" + dir}, args...)
		if code != exitFailed || !strings.Contains(errs, "no bank in "+dir) {
			t.Errorf("%v: %d %s", args, code, errs)
		}
	}
}

// serve runs a bank until the test stops it, and returns its addresses.
func serve(t *testing.T, settings ...string) (api string, stop func() (code int, errs string)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	var stderr bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		settings := append([]string{"BANKAPI_LISTEN=127.0.0.1:0", "BANKAPI_ADMIN_LISTEN=127.0.0.1:0"}, settings...)
		code := run(ctx, []string{"serve"}, environment(settings...), writer, &stderr)
		_ = writer.Close()
		ended <- code
	}()
	var printed strings.Builder
	address := regexp.MustCompile(`API +(http://\S+)`)
	buffer := make([]byte, 4096)
	for api == "" {
		n, err := reader.Read(buffer)
		printed.Write(buffer[:n])
		if match := address.FindStringSubmatch(printed.String()); match != nil {
			api = match[1]
		} else if err != nil {
			t.Fatalf("no address: %s%s", printed.String(), stderr.String())
		}
	}
	go func() { _, _ = io.Copy(io.Discard, reader) }()
	stop = func() (int, string) {
		cancel()
		code := <-ended
		ended <- code
		return code, stderr.String()
	}
	t.Cleanup(func() { stop() })
	return api, stop
}

func TestServeStopsInGoodOrder(t *testing.T) {
	t.Parallel()
	api, stop := serve(t, "DATABASE_URL="+dbtest.EmptyURL(t), "REDIS_URL="+dbtest.RedisURL(t))
	if got := get(t, api+"/readyz"); got != http.StatusOK {
		t.Errorf("readyz: %d", got)
	}
	if code, errs := stop(); code != exitOK {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if _, err := http.Get(api + "/healthz"); err == nil {
		t.Error("it still listens")
	}
}

func TestServeOnAPrivateDatabase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	api, stop := serve(t, "BANKAPI_DATA_DIR="+dir)
	if got := get(t, api+"/readyz"); got != http.StatusOK {
		t.Errorf("readyz: %d", got)
	}
	if code, out, errs := bankapi(t, []string{"BANKAPI_DATA_DIR=" + dir}, "verify"); code != exitOK || !strings.Contains(out, "ok") {
		t.Errorf("verify beside it: %d %s%s", code, out, errs)
	}
	code, _, errs := bankapi(t, []string{"BANKAPI_DATA_DIR=" + dir, "BANKAPI_ADMIN_LISTEN=off"}, "serve", "--listen", "127.0.0.1:0")
	if code != exitFailed || !strings.Contains(errs, dir) || !strings.Contains(errs, "in use") {
		t.Errorf("a second bank: %d %s", code, errs)
	}
	if code, errs := stop(); code != exitOK {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

func TestServeEndsWhenItsPrivateDatabaseDoes(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for a shutdown")
	}
	dir := t.TempDir()
	_, stop := serve(t, "BANKAPI_DATA_DIR="+dir)
	killPostmaster(t, dir)
	time.Sleep(100 * time.Millisecond)
	if code, errs := stop(); code != exitFailed || !strings.Contains(errs, "postgres.log") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

func TestAStartThatIsBrokenOffIsNoFailure(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	var stderr bytes.Buffer
	stopped, stop := context.WithCancel(context.Background())
	defer stop()
	context.AfterFunc(ctx, stop)
	settings := environment("BANKAPI_DATA_DIR="+t.TempDir(), "BANKAPI_ADMIN_LISTEN=off", "BANKAPI_LISTEN=127.0.0.1:0")
	if code := run(stopped, []string{"serve"}, settings, io.Discard, &stderr); code != exitOK {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
}

func get(t *testing.T, url string) int {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode
}
