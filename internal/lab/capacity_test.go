package lab

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
)

func TestPlanRoundsLoadsUpAndCapacityDown(t *testing.T) {
	t.Parallel()
	got, err := Plan(Load{Rate: 10, Instances: 3, Latency: 150 * time.Millisecond, Connections: 1, QueryTime: 300 * time.Millisecond, Share: 50})
	if err != nil {
		t.Fatal(err)
	}
	if got.PerInstance != 4 || got.InFlight != 2 || got.InFlightPerInstance != 1 || got.Ceiling != 3 || got.Excess != 7 || got.GlobalLimit != 1 {
		t.Errorf("%+v", got)
	}
}

func TestPlanNamesEveryFault(t *testing.T) {
	t.Parallel()
	_, err := Plan(Load{Rate: -1, Instances: math.MaxInt64, Latency: 2 * time.Hour, QueryTime: time.Nanosecond, Share: 101})
	for _, flag := range []string{"--rate", "--instances", "--latency", "--connections", "--query-time", "--share"} {
		if err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("%v does not name %s", err, flag)
		}
	}
}

func TestPlanHoldsAtItsBounds(t *testing.T) {
	t.Parallel()
	const most = 1_000_000_000
	got, err := Plan(Load{Rate: most, Instances: 1, Latency: time.Hour, Connections: most, QueryTime: time.Microsecond, Share: 100})
	if err != nil || got.InFlight != 3600*most || got.Ceiling != most*1_000_000 || got.GlobalLimit != got.Ceiling || got.Excess != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestCapacityIsJSON(t *testing.T) {
	t.Parallel()
	found, err := Plan(LessonLoad())
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(found)
	if err != nil || !strings.Contains(string(got), `"latency_ms":80,`) || !strings.Contains(string(got), `"global_limit_per_second":16000`) {
		t.Errorf("%s, %v", got, err)
	}
}
