package lab

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"example.com/bankapi/internal/ratelimit/policyfile"
)

func stages(rates ...float64) []Stage {
	var all []Stage
	for i, r := range rates {
		all = append(all, Stage{Connections: Ladder[i], PerSecond: r, P50: time.Millisecond, P99: 2500 * time.Microsecond})
	}
	return all
}

func TestTheLadderEndsWhereMoreConnectionsNoLongerHelp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		rates []float64
		want  bool
	}{
		{"two stages say nothing", []float64{100, 90}, false},
		{"it rises", []float64{100, 200, 400}, false},
		{"one stage that falls may be chance", []float64{100, 200, 190}, false},
		{"two that do not rise are not", []float64{100, 200, 190, 205}, true},
		{"the second one rises after all", []float64{100, 200, 190, 220}, false},
	} {
		if got := Levelled(stages(c.rates...)); got != c.want {
			t.Errorf("%s: Levelled(%v) = %v", c.name, c.rates, got)
		}
	}
	if !Levelled([]Stage{{PerSecond: 100}, {PerSecond: 500, Refused: 1}}) {
		t.Error("it goes on although transfers are refused")
	}
}

func TestTheGlobalLimitIsAShareOfTheBestStage(t *testing.T) {
	t.Parallel()
	refusing := append(stages(100, 5123.9, 4000), Stage{PerSecond: 9000, Refused: 1})
	m, best, err := Measure(refusing, 80)
	if err != nil || m.Ceiling != 5123 || m.GlobalLimit != 4098 || best != refusing[1] {
		t.Errorf("ceiling %d, limit %d, best %+v, %v", m.Ceiling, m.GlobalLimit, best, err)
	}
	if m, _, _ := Measure(stages(0.5), 80); m.GlobalLimit != 1 {
		t.Errorf("a limit of %d is no limit that the file accepts", m.GlobalLimit)
	}
	if _, _, err := Measure(refusing[3:], 80); !errors.Is(err, ErrTooBusy) {
		t.Errorf("%v", err)
	}
}

func TestMeasuredIsTextAndJSON(t *testing.T) {
	t.Parallel()
	m, _, _ := Measure(stages(100, 5000), 80)
	m.AtLimit = Stage{Connections: 16, PerSecond: 4000, Refused: 1234}
	var text strings.Builder
	if err := m.Report().Write(&text); err != nil || !strings.Contains(text.String(), "5,000      1.0      2.5   the ceiling\n") ||
		!strings.Contains(text.String(), "paced at the global limit, 1,234 refused\n") {
		t.Errorf("%v\n%s", err, &text)
	}
	got, err := json.Marshal(m)
	for _, want := range []string{`"ceiling_per_second":5000`, `"global_limit_per_second":4000`, `{"connections":8,"transfers_per_second":100,"p50_ms":1,"p99_ms":2.5,"refused":0}`} {
		if err != nil || !strings.Contains(string(got), want) {
			t.Errorf("%v: no %s in %s", err, want, got)
		}
	}
}

// The line that is printed can be put into the built-in file in place of its own.
func TestThePolicyLineFitsThePolicyFile(t *testing.T) {
	t.Parallel()
	m, _, _ := Measure(stages(5000), 80)
	var lines []string
	for line := range strings.SplitSeq(string(policyfile.DefaultFile()), "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "global-transfers:") {
			line = "  " + m.Policy()
		}
		lines = append(lines, line)
	}
	limits, err := policyfile.Parse([]byte(strings.Join(lines, "\n")), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := limits.GlobalTransfers.Limit; got.Quota != 4000 || got.Period != time.Second {
		t.Errorf("%+v", got)
	}
}
