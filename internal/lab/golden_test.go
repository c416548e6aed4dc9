package lab

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/bankapi/internal/ratelimit"
)

// The figures of the lesson, by the functions that the commands print.

func TestG1FixedWindowAdmitsTwiceItsLimitAtABoundary(t *testing.T) {
	t.Parallel()
	runs := Boundary().Runs
	if got, want := admitted(runs), map[string]int{"fixed-window": 200, "sliding-log": 100}; !cmp.Equal(got, want) {
		t.Errorf("admitted %v, want %v", got, want)
	}
}

func TestG2TokenBucketTellsTheExactWait(t *testing.T) {
	t.Parallel()
	type answer struct {
		Left int64
		Wait int64 // ms, 0 when admitted
	}
	want := []answer{
		{4, 0}, {3, 0}, {2, 0}, {1, 0}, {0, 0}, {0, 1000}, {0, 1000}, {0, 500}, {0, 0}, {1, 0}, {0, 0}, {0, 1000}, {0, 1000},
	}
	var got []answer
	for _, a := range TokenTimeline().Run.Answers {
		if a.Allowed != (a.Wait == 0) {
			t.Errorf("at %v: allowed %v with a wait of %v", a.At, a.Allowed, a.Wait)
		}
		got = append(got, answer{a.Left, a.Wait.Milliseconds()})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestG3FourAlgorithmsSideBySide(t *testing.T) {
	t.Parallel()
	type figures struct {
		Algorithm string
		Admitted  int
		Most      int64
	}
	want := []figures{{"fixed-window", 20, 20}, {"sliding-log", 10, 10}, {"sliding-counter", 11, 11}, {"token-bucket", 12, 12}}
	var got []figures
	for _, run := range Compare().Runs {
		got = append(got, figures{run.Limit.Algorithm.String(), run.Admitted, run.MaxInSpan})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestG4TheKeyDecidesWhoIsRefused(t *testing.T) {
	t.Parallel()
	anonymous := int(ratelimit.DefaultPolicies().Anonymous.Limit.Capacity())
	want := []Layout{
		{Name: "by address", Office: Passed{10, 60}, Attacker: Passed{10, 60}},
		{Name: "by key shown", Office: Passed{60, 60}, Attacker: Passed{60, 60}},
		{Name: "layered", Office: Passed{60, 60}, Attacker: Passed{anonymous, 60}},
	}
	if diff := cmp.Diff(want, CompareKeys().Layouts); diff != "" {
		t.Error(diff)
	}
}

func TestG6ASharedCounterHoldsTheLimit(t *testing.T) {
	t.Parallel()
	got, err := Share(t.Context(), Fleet{})
	if err != nil || got.Apart != 15 || got.Together != 5 {
		t.Errorf("apart %d, together %d, %v; want 15 and 5", got.Apart, got.Together, err)
	}
}

func TestG8SweepDropsOnlyFullBuckets(t *testing.T) {
	t.Parallel()
	want := []SweepStep{{5, 1001, 1}, {9, 1, 1}, {15, 1, 0}}
	if diff := cmp.Diff(want, SweepMemory().Steps); diff != "" {
		t.Error(diff)
	}
}

func TestG9ADailyQuotaReturnsAtMidnight(t *testing.T) {
	t.Parallel()
	at := func(clock string) time.Time {
		when, err := time.Parse(time.DateTime, clock)
		if err != nil {
			t.Fatal(err)
		}
		return when
	}
	want := []DailyStep{
		{At: at("2026-09-24 22:59:30"), What: "the thousandth request", Allowed: true},
		{At: at("2026-09-24 23:59:30"), What: "30 s before midnight", Wait: 30 * time.Second},
		{At: at("2026-09-25 00:00:01"), What: "31 s later", Allowed: true, Left: 999},
	}
	if diff := cmp.Diff(want, DailyQuota().Steps); diff != "" {
		t.Error(diff)
	}
}

func TestG10RandomTrafficFindsTheFixedWindowsFlaw(t *testing.T) {
	t.Parallel()
	want := []Seed{{1, 20, 31}, {2, 20, 28}, {3, 20, 26}}
	if diff := cmp.Diff(want, CheckProperty([]int64{1, 2, 3}).Seeds); diff != "" {
		t.Error(diff)
	}
}

func TestG11CapacityOfPayDay(t *testing.T) {
	t.Parallel()
	want := Capacity{
		Load: LessonLoad(), PerInstance: 2500, InFlight: 4000, InFlightPerInstance: 200,
		Ceiling: 20_000, Excess: 30_000, GlobalLimit: 16_000,
	}
	got, err := Plan(LessonLoad())
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

func admitted(runs []Run) map[string]int {
	counts := map[string]int{}
	for _, r := range runs {
		counts[r.Limit.Algorithm.String()] = r.Admitted
	}
	return counts
}
