package main

import (
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"example.com/bankapi/internal/dbtest"
)

var experiments = []string{"boundary", "timeline", "compare", "keys", "property", "daily", "calendar", "sweep", "shared"}

func TestSimulateAloneListsTheExperiments(t *testing.T) {
	t.Parallel()
	code, out, errs := bankapi(t, nil, "simulate")
	if code != exitOK || errs != "" {
		t.Errorf("%d %s", code, errs)
	}
	for _, name := range append(experiments, "traffic") {
		if !strings.Contains(out, "bankapi simulate "+name) {
			t.Errorf("%s is not listed", name)
		}
	}
}

func TestSimulateComparePrintsTheLessonsFigures(t *testing.T) {
	t.Parallel()
	_, out, _ := bankapi(t, nil, "simulate", "compare")
	for _, want := range []string{
		`fixed-window +10/10s +20 +5 +20 `, `sliding-log +10/10s +10 +15 +10 `,
		`sliding-counter +10/10s +11 +14 +11 `, `token-bucket +10/10s +12 +13 +12 `,
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("no line like %q in\n%s", want, out)
		}
	}
}

func TestSimulateCalendarShowsTheDaysOf23And25Hours(t *testing.T) {
	t.Parallel()
	_, out, _ := bankapi(t, nil, "simulate", "calendar", "--zone", "Europe/Berlin")
	for _, want := range []string{
		`1 January +01-01 00:00 \+01:00 +01-02 00:00 \+01:00 +24 +20 +4 +4h `,
		`29 March +03-29 00:00 \+01:00 +03-30 00:00 \+02:00 +23 +20 +3 +3h `,
		`25 October +10-25 00:00 \+02:00 +10-26 00:00 \+01:00 +25 +20 +5 +5h `,
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("no line like %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "Lagos") {
		t.Errorf("zones that were not asked for:\n%s", out)
	}
}

func TestEveryExperimentHasATableJSONAndAPicture(t *testing.T) {
	t.Parallel()
	for _, name := range experiments {
		picture := filepath.Join(t.TempDir(), name+".svg")
		code, table, errs := bankapi(t, nil, "simulate", name, "--svg", picture)
		if code != exitOK || strings.Count(table, "\n") < 5 {
			t.Errorf("%s: %d %s%s", name, code, table, errs)
		}
		drawn, err := os.ReadFile(picture)
		if err != nil || xml.Unmarshal(drawn, new(struct{})) != nil {
			t.Errorf("%s: no picture: %v", name, err)
		}
		_, text, _ := bankapi(t, nil, "simulate", name, "--json")
		var found struct{ Experiment, Lesson string }
		if err := json.Unmarshal([]byte(text), &found); err != nil || found.Experiment != name || found.Lesson == "" {
			t.Errorf("%s: %v %+v", name, err, found)
		}
		if code, help, _ := bankapi(t, nil, "simulate", name, "--help"); code != exitOK || strings.Contains(help, "DATABASE_URL") {
			t.Errorf("%s: help tells of a database: %s", name, help)
		}
	}
}

func TestSimulateTrafficOfOnesOwn(t *testing.T) {
	t.Parallel()
	list := filepath.Join(t.TempDir(), "day.txt")
	if err := os.WriteFile(list, []byte("0s 5\n0.5s 5\n1s 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want string }{
		{"--traffic burst --algorithm token-bucket", `token-bucket +10/10s +60 +60 +10 `},
		{"traffic --traffic steady --rate 2 --for 20s --algorithm fixed-window", `fixed-window +10/10s +20 +20 +10 `},
		{"--traffic poisson --seed 7 --algorithm leaky-bucket,sliding-log", `sliding-log +10/10s `},
		{"--file " + list + " --limit 2/1s --algorithm fixed-window", `fixed-window +2/1s +1 +2 +1 +never`},
	} {
		code, out, errs := bankapi(t, nil, append([]string{"simulate"}, strings.Fields(c.args)...)...)
		if code != exitOK || !regexp.MustCompile(c.want).MatchString(out) {
			t.Errorf("%s: %d %s%s\nwant %s", c.args, code, out, errs, c.want)
		}
		_, again, _ := bankapi(t, nil, append([]string{"simulate"}, strings.Fields(c.args)...)...)
		if again != out {
			t.Errorf("%s: prints something else the second time", c.args)
		}
	}
	if code, out, _ := bankapi(t, nil, "simulate", "--traffic", "burst", "--svg", "-"); code != exitOK || !strings.HasPrefix(out, "<svg") {
		t.Errorf("--svg -: %d %.40s", code, out)
	}
}

func TestSimulateSaysWhatIsWrongAndWhatWouldBeRight(t *testing.T) {
	t.Parallel()
	for args, hint := range map[string]string{
		"nonsense":                         "bankapi --help",
		"--limit 5/s":                      "--traffic burst",
		"--json":                           "Name an experiment",
		"--traffic flood":                  "burst, steady, poisson and file",
		"--traffic file":                   "--file",
		"--file /nowhere/day.txt":          "/nowhere/day.txt",
		"--traffic burst --limit 10":       "10/10s",
		"--traffic burst --limit 0/s":      "quota",
		"--traffic burst --algorithm gcra": "token-bucket",
		"--traffic burst --size 0":         "1 to",
		"--traffic steady --rate 0":        "above 0",
		"--traffic steady --rate 1e9":      "lower rate",
		"--traffic steady --for 0s":        "longer than 0s",
		"compare --svg /nowhere/x.svg":     "--svg",
		"compare --svg - --json":           "name a file",
		"property --seeds=-1":              "2147483647",
		"shared --instances 0":             "at least 1",
		"calendar --zone Berlin":           "Europe/Berlin",
		"calendar --zone Local":            "Europe/Berlin",
		"calendar --year 20260":            "1970 to 2200",
	} {
		code, out, errs := bankapi(t, nil, append([]string{"simulate"}, strings.Fields(args)...)...)
		if code == exitOK || out != "" || !strings.Contains(errs, hint) || strings.Count(errs, "\n") > 2 {
			t.Errorf("%s: %d %q %q, want %q in it", args, code, out, errs, hint)
		}
	}
}

func TestSharedCountsInRedisAndLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	url := dbtest.RedisURL(t)
	options, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	defer client.Close()
	code, out, errs := bankapi(t, []string{"REDIS_URL=" + url}, "simulate", "shared")
	if code != exitOK || !regexp.MustCompile(`shared, in redis +5 +10`).MatchString(out) {
		t.Errorf("%d %s%s", code, out, errs)
	}
	keys, err := client.Keys(t.Context(), "*").Result()
	if err != nil || len(keys) != 0 {
		t.Errorf("left behind: %v, %v", keys, err)
	}
}

func TestCapacityPrintsTheArithmetic(t *testing.T) {
	t.Parallel()
	code, out, errs := bankapi(t, nil, "capacity")
	for _, want := range []string{
		`50,000/s / 20 +2,500/s`, `50,000/s x 80ms +4,000 `, `4,000 / 20 +200`, `100 / 5ms +20,000/s`,
		`50,000/s - 20,000/s +30,000/s`, `80 % of 20,000/s +16,000/s`,
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("%d %s: no line like %q in\n%s", code, errs, want, out)
		}
	}
	_, text, _ := bankapi(t, nil, "capacity", "--json", "--rate", "100")
	var found map[string]float64
	if err := json.Unmarshal([]byte(text), &found); err != nil || found["excess_per_second"] != 0 || found["ceiling_per_second"] != 20_000 {
		t.Errorf("%v %s", err, text)
	}
	if code, _, errs := bankapi(t, nil, "capacity", "--rate", "0", "--share", "101"); code == exitOK ||
		!strings.Contains(errs, "--rate") || !strings.Contains(errs, "--share") {
		t.Errorf("%d %s", code, errs)
	}
}
