package redisstore_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"example.com/bankapi/internal/dbtest"
	"example.com/bankapi/internal/ratelimit"
	"example.com/bankapi/internal/ratelimit/redisstore"
)

// childURL tells a process of this test where to count.
const childURL = "BANKAPI_TEST_CHILD_REDIS_URL"

// TestProcessesAdmitExactlyWhatTheBucketHolds starts this test program four times more. Each process takes 100 times,
// 10 at once, from a bucket of 40 that does not refill: together they are admitted exactly 40 times, each time cold.
func TestProcessesAdmitExactlyWhatTheBucketHolds(t *testing.T) {
	t.Parallel()
	if url := os.Getenv(childURL); url != "" {
		beAProcess(t, url)
		return
	}
	url := dbtest.RedisURL(t)
	total := 0
	for _, out := range processes(t, url, 4) {
		var n int
		if _, err := fmt.Sscanf(out, "admitted %d", &n); err != nil {
			t.Fatalf("a process printed %q", out)
		}
		total += n
	}
	if total != 40 {
		t.Errorf("4 processes of 100 requests were admitted %d times, want exactly 40", total)
	}
}

// processes runs the test in n processes at once and returns what each printed.
func processes(t *testing.T, url string, n int) []string {
	t.Helper()
	found := make([]string, n)
	var all sync.WaitGroup
	for i := range found {
		all.Go(func() {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.count=1")
			cmd.Env = append(os.Environ(), childURL+"="+url)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("a process: %v\n%s", err, out)
			}
			if at := bytes.Index(out, []byte("admitted ")); at >= 0 {
				found[i] = string(out[at:])
			}
		})
	}
	all.Wait()
	return found
}

func beAProcess(t *testing.T, url string) {
	t.Helper()
	client, err := redisstore.Open(url)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	s := redisstore.New(client, redisstore.Options{})
	c := claim(&ratelimit.Policy{Name: "p", Limit: bucket(1, 24*time.Hour, 40), OnFailure: ratelimit.FailClosed}, 1)
	var mu sync.Mutex
	admitted := 0
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			for range 10 {
				if take(t, s, c).Allowed {
					mu.Lock()
					admitted++
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	fmt.Printf("admitted %d\n", admitted)
}
