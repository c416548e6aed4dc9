package telemetry

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
)

// TestEveryMetricIsInTheTable of docs/metrics.md, and none is there that we have not.
func TestEveryMetricIsInTheTable(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^\| .*$`).FindAllString(string(text), -1) {
		for _, name := range regexp.MustCompile("`(bankapi_[a-z_]+)`").FindAllStringSubmatch(row, -1) {
			documented[name[1]] = true
		}
	}
	m := New()
	m.WatchPool("main", func() *pgxpool.Stat { return nil })
	described := make(chan *prometheus.Desc, 100)
	m.registry.Describe(described)
	close(described)
	ours := regexp.MustCompile(`fqName: "(bankapi_[a-z_]+)"`)
	known := map[string]bool{}
	for d := range described {
		if name := ours.FindStringSubmatch(d.String()); name != nil {
			known[name[1]] = true
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(known)), slices.Sorted(maps.Keys(documented))); diff != "" || len(known) < 10 {
		t.Errorf("metrics we have (-) and metrics in docs/metrics.md (+):\n%s", diff)
	}
}
