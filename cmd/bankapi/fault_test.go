package main

import (
	"strings"
	"testing"
)

func TestFaultsAreForADemoBankOnly(t *testing.T) {
	t.Parallel()
	code, _, errs := bankapi(t, []string{"BANKAPI_FAULT=after_locks", "BANKAPI_DEMO=off"}, "serve")
	if code != exitUsage || !strings.Contains(errs, "--fault (BANKAPI_FAULT)") || !strings.Contains(errs, "--demo on") {
		t.Errorf("%d %s", code, errs)
	}
}

func TestFaultsAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "after_locks", "before_commit:3", "after_commit_before_response:5%,slow_commit=200ms", "drop_response:100%"} {
		if _, err := parseFaults(text, true); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{
		"nonsense", "after_locks:", "after_locks:0", "after_locks:-1", "after_locks:x", "after_locks:0%", "after_locks:101%",
		"slow_commit", "slow_commit=", "slow_commit=0s", "slow_commit=2m", "slow_commit=fast", "after_locks,", "AFTER_LOCKS",
	} {
		if _, err := parseFaults(text, true); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func TestAFaultStrikesAtItsTurnOrByChance(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"after_locks": 1, "after_locks:3": 1, "after_locks:11": 0, "after_locks:100%": 10} {
		f, err := parseFault(text)
		if err != nil {
			t.Fatal(err)
		}
		var struck []int
		for turn := range 10 {
			if f.strikes() {
				struck = append(struck, turn+1)
			}
		}
		if len(struck) != want || text == "after_locks:3" && struck[0] != 3 {
			t.Errorf("%s strikes at %v of ten", text, struck)
		}
	}
}
