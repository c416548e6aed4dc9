package tests

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// commandLine is an indented line of the README that a reader pastes; the other indented lines show what is answered.
var commandLine = regexp.MustCompile(`(?m)^    ((?:B=|TOKEN=|ids=|FROM=|pay|sleep|curl|  -d).*)\n`)

// TestTheTourInTheREADME pastes the README's tour into a plain shell, all of it at once.
func TestTheTourInTheREADME(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, tour, _ := strings.Cut(string(readme), "## A tour with curl\n")
	tour, _, _ = strings.Cut(tour, "\n## ")
	var script strings.Builder
	for _, line := range commandLine.FindAllStringSubmatch(tour, -1) {
		script.WriteString(line[1] + "\n")
	}
	s := start(t, "BANKAPI_DATA_DIR="+t.TempDir())
	here := strings.NewReplacer("http://127.0.0.1:8080", s.URL, "127.0.0.1:8081", s.Admin)
	shell := exec.Command("sh", "-eu")
	shell.Stdin = strings.NewReader(here.Replace(script.String()))
	out, err := shell.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, script.String(), out)
	}
	var statuses []string
	for _, line := range regexp.MustCompile(`(?m)^HTTP/1.1 (\d+)`).FindAllStringSubmatch(string(out), -1) {
		statuses = append(statuses, line[1])
	}
	if got, want := strings.Join(statuses, " "), "201 201 429 201 201 401"; got != want {
		t.Errorf("the tour is answered %s, want %s\n%s", got, want, out)
	}
	for _, text := range []string{"Retry-After: ", "Idempotent-Replayed: true\r\n", `"state":"done"`, `"policy":"user"`, `"balance_after":`, `{"ok":true,`} {
		if !strings.Contains(string(out), text) {
			t.Errorf("the tour shows no %q\n%s", text, out)
		}
	}
}
