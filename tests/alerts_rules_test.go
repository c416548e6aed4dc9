package tests

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"example.com/bankapi/internal/dbtest"
)

// rule is one alert of deploy/prometheus/alerts.yml.
type rule struct {
	Alert       string
	Expr        string
	For         string
	Labels      struct{ Severity string }
	Annotations struct{ Summary, Description string }
}

func alertRules(t *testing.T) (rules []rule) {
	t.Helper()
	text, err := os.ReadFile("../deploy/prometheus/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Name  string
			Rules []rule
		}
	}
	if err := yaml.UnmarshalWithOptions(text, &file, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	for _, g := range file.Groups {
		rules = append(rules, g.Rules...)
	}
	if len(rules) == 0 {
		t.Fatal("deploy/prometheus/alerts.yml has no rules")
	}
	return rules
}

// dashboardQueries are what the dashboard asks Prometheus, by panel or, with a $, by variable.
func dashboardQueries(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../deploy/grafana/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			ID      int
			Title   string
			Targets []struct{ Expr string }
		}
		Templating struct {
			List []struct {
				Name  string
				Query any
			}
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	queries, ids := map[string][]string{}, map[int]bool{}
	for _, p := range board.Panels {
		if ids[p.ID] {
			t.Errorf("two panels have the id %d", p.ID)
		}
		ids[p.ID] = true
		for _, target := range p.Targets {
			queries[p.Title] = append(queries[p.Title], target.Expr)
		}
	}
	for _, v := range board.Templating.List {
		queries["$"+v.Name] = []string{fmt.Sprint(v.Query)}
	}
	return queries
}

func TestAlertsSayWhatIsWrongAndWhatToDo(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, r := range alertRules(t) {
		if names[r.Alert] {
			t.Errorf("two alerts are called %s", r.Alert)
		}
		names[r.Alert] = true
		if r.Annotations.Summary == "" || r.Annotations.Description == "" {
			t.Errorf("%s has no summary, or does not say what to do", r.Alert)
		}
		if !slices.Contains([]string{"critical", "warning", "info"}, r.Labels.Severity) {
			t.Errorf("%s has the severity %q", r.Alert, r.Labels.Severity)
		}
		for _, m := range regexp.MustCompile(`\$labels\.(\w+)`).FindAllStringSubmatch(r.Annotations.Summary, -1) {
			if grouped := grouping(r.Expr); len(grouped) > 0 && !slices.Contains(grouped, m[1]) {
				t.Errorf("%s speaks of a label %s that its expression does not keep", r.Alert, m[1])
			}
		}
	}
}

// Wherever a limit fails open, closed, or into a share, and a store fails, there is an alert.
func TestAlertsForEachWayInWhichALimitFails(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for _, r := range alertRules(t) {
		all.WriteString(r.Expr)
	}
	for _, word := range []string{"failed_open", "failed_closed", "admitted_here", "refused_here", "bankapi_ratelimit_store_failures_total"} {
		if !strings.Contains(all.String(), word) {
			t.Errorf("no alert is about %s", word)
		}
	}
}

// TestAlertsAndDashboardAskForWhatIsThere puts a bank through all that they speak of: each selector in them must then
// find a series of the bank's own, by its name and by each label.
func TestAlertsAndDashboardAskForWhatIsThere(t *testing.T) {
	t.Parallel()
	there := everythingHappens(t)
	check := func(where, query string) {
		asked := selectors(query)
		if len(asked) == 0 && !strings.HasPrefix(query, "up{") && where != "panel $datasource" {
			t.Errorf("%s asks for nothing of the bank's", where)
		}
		for _, s := range asked {
			if !slices.ContainsFunc(there, s.finds) {
				t.Errorf("%s: the bank has no series for %s", where, s)
			}
		}
		for _, label := range grouping(query) {
			if !slices.ContainsFunc(there, func(x sample) bool {
				_, has := x.labels[label]
				return has && slices.ContainsFunc(asked, func(s selector) bool { return s.finds(x) })
			}) {
				t.Errorf("%s: nothing that it asks for has a label %s", where, label)
			}
		}
	}
	for _, r := range alertRules(t) {
		check("alert "+r.Alert, r.Expr)
	}
	for panel, queries := range dashboardQueries(t) {
		for _, q := range queries {
			check("panel "+panel, q)
		}
	}
}

// everythingHappens starts a bank and has it admit, refuse, deliver, lose Redis and lose PostgreSQL. It returns the series
// seen before the losses and after them: only the process that sends webhooks has all of theirs, and it stops then.
func everythingHappens(t *testing.T) []sample {
	t.Helper()
	redis, database := dbtest.PrivateRedis(t), dbtest.PrivatePostgres(t)
	limits := limitsFile(t, "user", generous, "global-transfers", "quota: 1, period: 1h, burst: 5")
	failOpen(t, limits, "daily")
	s := start(t, "DATABASE_URL="+database.URL(), "REDIS_URL="+redis.URL(), limits, "TRUSTED_PROXIES=127.0.0.1/32", "BANKAPI_WEBHOOK_LOOPBACK=on")
	partner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(partner.Close)

	user := somebody(t, s.URL)
	user.When = unknown
	from, to := user.openAccount(t, "NGN"), user.openAccount(t, "NGN")
	wantStatus(t, user.do(t, "POST", "/webhooks", fmt.Sprintf(`{"url":%q}`, partner.URL+"/events")), http.StatusCreated)
	for i := range 7 { // a busy machine may settle some too late; the last two are over global-transfers
		user.transfer(t, fmt.Sprint("any-", i), from.ID, to.ID, 1)
	}
	guesser := caller{URL: s.URL, Address: "192.0.2.1", When: unknown}
	for range 6 {
		guesser.do(t, "POST", "/sessions", `{"email":"victim@example.com","password":"not-the-right-password"}`)
	}
	awaitSeries(t, s, "bankapi_webhook_attempts_total", "bankapi_webhook_outbox_lag_seconds", "bankapi_webhook_backlog")
	before := scrape(t, s)

	redis.Kill()
	wantStatus(t, user.do(t, "GET", "/me", ""), http.StatusOK)
	database.Kill()
	got := guesser.do(t, "POST", "/sessions", `{"email":"ada@example.com","password":"not-the-right-password"}`)
	wantStatus(t, got, http.StatusServiceUnavailable)
	return append(before, scrape(t, s)...)
}

// failOpen changes what a policy of a file made by limitsFile does while its store is away.
func failOpen(t *testing.T, limits, policy string) {
	t.Helper()
	path := strings.TrimPrefix(limits, "LIMITS_FILE=")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^(  ` + policy + `: .*on_failure: )share`)
	if !line.Match(text) {
		t.Fatalf("policy %s does not share", policy)
	}
	if err := os.WriteFile(path, line.ReplaceAll(text, []byte("${1}open")), 0o600); err != nil {
		t.Fatal(err)
	}
}

func wantStatus(t *testing.T, got answer, want int) {
	t.Helper()
	if got.Status != want {
		t.Fatalf("%s, want %d", got, want)
	}
}

// awaitSeries waits until a process has metrics of these names.
func awaitSeries(t *testing.T, s *server, names ...string) {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		there := scrape(t, s)
		if !slices.ContainsFunc(names, func(name string) bool {
			return !slices.ContainsFunc(there, func(x sample) bool { return x.name == name })
		}) {
			return
		}
	}
	t.Fatalf("%s does not have all of %v", s.Admin, names)
}
