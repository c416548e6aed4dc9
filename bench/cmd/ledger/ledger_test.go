package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/bankapi/internal/load"
)

// pgbench's lines: client, number, µs, script, and the end in s and µs.
func TestLogsAreReadWithinTheMeasuredTime(t *testing.T) {
	t.Parallel()
	prefix := filepath.Join(t.TempDir(), "pgbench")
	for i, lines := range []string{
		"0 0 9000 0 100 0\n0 1 2000 0 101 500000\n", // the first ends the dialling, the second counts
		"1 0 4000 0 102 0\n1 1 9000 0 103 0\n",      // the first counts, the second comes too late
		"2 0 3000 0 101 0\n2 1 9000 0 100 999999\n", // the first counts, the second warmed up
	} {
		if err := os.WriteFile(fmt.Sprintf("%s.%d", prefix, i), []byte(lines), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, first, err := readLogs(prefix+".*", time.Second, 2*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if !first.Equal(time.Unix(100, 0)) || got.odd != nil || got.done != 6 || got.perSecond != 1.5 || got.p50 != 3*time.Millisecond || got.p99 != 4*time.Millisecond {
		t.Errorf("%+v", got)
	}
	if left, _ := filepath.Glob(prefix + ".*"); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestAPgbenchThatHardlyWorkedIsOdd(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "pgbench.1")
	if err := os.WriteFile(name, []byte("0 0 9000 0 100 0\n0 1 9000 0 101 100000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, _, err := readLogs(name, time.Second, 2*time.Second)
	if err != nil || got.odd == nil || got.done != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, _, err := readLogs(name, time.Second, time.Second); err != nil || got.odd == nil {
		t.Errorf("no log: %+v, %v", got, err)
	}
}

func TestRatiosAreMediansOfTheRounds(t *testing.T) {
	t.Parallel()
	rates := func(all ...float64) (samples []sample) {
		for _, r := range all {
			samples = append(samples, sample{perSecond: r})
		}
		return samples
	}
	c := contestResult{samples: [][]sample{rates(100, 50, 200), rates(300, 300, 300)}}
	if got := c.ratio(1); got != 3 {
		t.Errorf("%v, want the median of 3, 6 and 1.5", got)
	}
}

func TestAnotherLedgerIsAskedAsItsFileSays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	members, file := filepath.Join(dir, "members"), filepath.Join(dir, "other.json")
	if err := os.WriteFile(members, []byte("1 ada\n2 grace\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`{"name":"x","url":"http://127.0.0.1:9/v2/pay","status":200,"header":{"Authorization":"Bearer {token}","Key":"{key}"},
		"body":"{\"from\":{from},\"to\":{to},\"amount\":{amount}}","members":%q}`, members)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := readOther(file)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(string(o.requests(true)()()))))
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(r.Body)
	var order struct{ From, To, Amount int64 }
	if err := json.Unmarshal(body, &order); err != nil || order.From != 2 || order.To != 1 || order.Amount < 100 {
		t.Errorf("%s, %v", body, err)
	}
	if r.URL.Path != "/v2/pay" || r.Header.Get("Authorization") != "Bearer grace" || len(r.Header.Get("Key")) != 32 {
		t.Errorf("%s %v", r.URL, r.Header)
	}
}

func TestTheCeilingAnswersTransfers(t *testing.T) {
	t.Parallel()
	crowd := &load.Crowd{Members: []load.Member{{Account: "acct_1", Token: "a"}, {Account: "acct_2", Token: "b"}}}
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(crowd.Payments(true)()())))
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	ceilingHandler().ServeHTTP(w, r)
	if w.Code != http.StatusCreated || !strings.Contains(w.Body.String(), `"from_account":"acct_2","to_account":"acct_1"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
