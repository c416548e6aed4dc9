package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"example.com/bankapi/internal/dbtest"
	"example.com/bankapi/internal/ratelimit/policyfile"
)

const findScratch = `SELECT count(*) FROM pg_database WHERE datname LIKE 'bankapi\_capacity\_%'`

func TestCapacityMeasuresSomebodysServerOnlyIfTold(t *testing.T) {
	t.Parallel()
	url := dbtest.EmptyURL(t)
	code, out, errs := bankapi(t, []string{"DATABASE_URL=" + url}, "capacity", "--measure")
	if code != exitFailed || out != "" || !strings.Contains(errs, "--yes") {
		t.Errorf("%d %s%s", code, out, errs)
	}
}

func TestCapacityMeasuresInADatabaseOfItsOwn(t *testing.T) {
	t.Parallel()
	url := dbtest.EmptyURL(t)
	code, out, errs := bankapi(t, []string{"DATABASE_URL=" + url}, "capacity", "--measure", "--yes", "--json", "--share", "50", "--stage-time", "100ms")
	var found struct {
		Stages []struct {
			Connections int
			PerSecond   int64 `json:"transfers_per_second"`
		}
		Ceiling int64 `json:"ceiling_per_second"`
		Limit   int64 `json:"global_limit_per_second"`
		AtLimit struct {
			PerSecond int64 `json:"transfers_per_second"`
		} `json:"at_the_limit"`
	}
	if err := json.Unmarshal([]byte(out), &found); err != nil || code != exitOK {
		t.Fatalf("%d %v\n%s%s", code, err, out, errs)
	}
	var best int64
	for _, s := range found.Stages {
		best = max(best, s.PerSecond)
	}
	if len(found.Stages) < 3 || best < 1 || found.Ceiling != best || found.Limit != best*50/100 || found.AtLimit.PerSecond < 1 {
		t.Errorf("%s", out)
	}

	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var tables, scratch int
	if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_tables WHERE schemaname = 'public'`).Scan(&tables); err != nil || tables != 0 {
		t.Errorf("%d tables were made in the database that was named: %v", tables, err)
	}
	if err := conn.QueryRow(t.Context(), findScratch).Scan(&scratch); err != nil || scratch != 0 {
		t.Errorf("%d databases were left behind: %v", scratch, err)
	}
}

// What it prints is what serve would take, and of the private server nothing stays.
func TestCapacityMeasuresAPrivateServerAndPrintsThePolicy(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	code, out, errs := bankapi(t, []string{"BANKAPI_DATA_DIR=" + dir}, "capacity", "--measure", "--stage-time", "100ms")
	_, policy, there := strings.Cut(out, "\n  global-transfers: ")
	if code != exitOK || !there || !strings.Contains(out, "the ceiling") {
		t.Fatalf("%d %s%s", code, out, errs)
	}
	var lines []string
	for line := range strings.SplitSeq(string(policyfile.DefaultFile()), "\n") {
		if strings.HasPrefix(line, "  global-transfers:") {
			line = "  global-transfers: " + strings.TrimSpace(policy)
		}
		lines = append(lines, line)
	}
	file := filepath.Join(t.TempDir(), "limits.yaml")
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := bankapi(t, nil, "limits", "check", file); code != exitOK {
		t.Errorf("%d %s", code, errs)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s was left behind: %v", dir, err)
	}
}

func TestCapacityRefusesSettingsThatMeasureNothing(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--share", "0"}, {"--share", "101"}, {"--stage-time", "1ms"}, {"--stage-time", "1h"}} {
		dir := filepath.Join(t.TempDir(), "data")
		code, _, errs := bankapi(t, []string{"BANKAPI_DATA_DIR=" + dir}, append([]string{"capacity", "--measure"}, args...)...)
		if code != exitFailed || !strings.Contains(errs, args[0]) {
			t.Errorf("%v: %d %s", args, code, errs)
		}
	}
}
