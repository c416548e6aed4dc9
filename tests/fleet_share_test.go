package tests

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/bankapi/internal/dbtest"
)

// Each instance of the fleet knows how many they are.
func TestTheFleetKnowsItsSize(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	members := strings.Count(string(text), "<<: *fleet-api\n")
	if told := fmt.Sprintf("BANKAPI_FLEET_SIZE: \"%d\"\n", members); members < 2 || !strings.Contains(string(text), told) {
		t.Errorf("docker-compose.yml has %d members of the fleet and does not say %s", members, told)
	}
}

const admittedHere = `bankapi_ratelimit_decisions_total{outcome="admitted_here",policy="user"}`

// TestFleetMemberWithoutRedis has a bucket of 12 that does not refill, and a process that is one of three. Without Redis
// the process admits a third of the bucket, and however often it is asked, no more. When Redis is back, and with it an
// empty count, all 12 are there again.
func TestFleetMemberWithoutRedis(t *testing.T) {
	t.Parallel()
	redis, database := dbtest.PrivateRedis(t), "DATABASE_URL="+dbtest.URL(t)
	door := fleet(t, 1, database)[0]
	s := fleet(t, 1, database, "REDIS_URL="+redis.URL(),
		"BANKAPI_FLEET_SIZE=3", limitsFile(t, "user", "quota: 1, period: 1h, burst: 12", "ip", generous, "anonymous", generous))[0]
	reads := func(n int) (admitted int) {
		user := somebody(t, door.URL)
		user.When = unknown
		user = user.at(t, s)
		for range n {
			switch got := user.do(t, "GET", "/me", ""); got.Status {
			case http.StatusOK:
				admitted++
			case http.StatusTooManyRequests:
			default:
				t.Errorf("GET /me: %s", got)
			}
		}
		return admitted
	}
	wantOf30 := func(want int, when string) {
		t.Helper()
		undisturbed(t, []*server{s}, func(int) func() {
			admitted := reads(30)
			return func() {
				if admitted != want {
					t.Errorf("%s: %d of 30 admitted, want %d of the 12", when, admitted, want)
				}
			}
		})
	}

	wantOf30(12, "with Redis")
	redis.Kill()
	before := series(t, s, admittedHere)
	if got := reads(30); got != 4 {
		t.Errorf("without Redis: %d of 30 admitted, want 4, a third of the 12", got)
	}
	if got := series(t, s, admittedHere) - before; got < 4 {
		t.Errorf("the metric counts %v admitted here, want at least 4", got)
	}
	redis.Start()
	time.Sleep(2 * time.Second)
	wantOf30(12, "two seconds after Redis is back")
}

// series is one number of a process's metrics; 0 if it is not there.
func series(t *testing.T, s *server, name string) (n float64) {
	t.Helper()
	for line := range strings.Lines(caller{URL: s.Admin}.raw(t, "/metrics")) {
		if rest, found := strings.CutPrefix(line, name+" "); found {
			n, _ = strconv.ParseFloat(strings.TrimSpace(rest), 64)
		}
	}
	return n
}
