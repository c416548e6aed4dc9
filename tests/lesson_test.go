package tests

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// transcripts are the fenced blocks of the lesson that show one command and all it printed.
var transcripts = regexp.MustCompile("(?m)^```\n\\$ bankapi (.+)\n((?s:.+?))\n```$")

// The lesson shows what the commands print, to the letter: what it says of them cannot grow old unseen.
func TestTheLessonShowsWhatTheCommandsPrint(t *testing.T) {
	t.Parallel()
	lesson, err := os.ReadFile("../docs/rate-limiting.md")
	if err != nil {
		t.Fatal(err)
	}
	found := transcripts.FindAllStringSubmatch(string(lesson), -1)
	if len(found) < 9 {
		t.Errorf("docs/rate-limiting.md shows %d commands, want at least 9", len(found))
	}
	for _, f := range found {
		t.Run(f[1], func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(printed(t, strings.Fields(f[1])...), f[2]); diff != "" {
				t.Errorf("the lesson shows something else (-printed +shown):\n%s", diff)
			}
		})
	}
}

// Each picture is what its experiment draws; its name is the experiment's.
func TestTheLessonsPicturesAreDrawnByTheCommands(t *testing.T) {
	t.Parallel()
	pictures, err := filepath.Glob("../docs/pictures/*.svg")
	if err != nil || len(pictures) == 0 {
		t.Fatalf("no pictures in docs/pictures (%v)", err)
	}
	for _, path := range pictures {
		experiment := strings.TrimSuffix(filepath.Base(path), ".svg")
		t.Run(experiment, func(t *testing.T) {
			t.Parallel()
			shown, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if drawn := printed(t, "simulate", experiment, "--svg", "-"); drawn != strings.TrimSpace(string(shown)) {
				t.Errorf("draw it again: bankapi simulate %s --svg docs/pictures/%s.svg", experiment, experiment)
			}
		})
	}
}

// printed is what a command writes to its standard output, with nothing set in the environment.
func printed(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	cmd.Dir = ".." // where the lesson is read
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("bankapi %s: %v", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out))
}
