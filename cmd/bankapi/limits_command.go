package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"example.com/bankapi/internal/httpapi"
	"example.com/bankapi/internal/ratelimit/policyfile"
)

type limitsCommand struct {
	Show    limitsShow    `cmd:"" help:"Print the policy file: that of --limits-file, else the built-in one. A good start for your own."`
	Check   limitsCheck   `cmd:"" help:"Look for faults in a policy file; exit 1 if there are any."`
	Explain limitsExplain `cmd:"" help:"Ask a running bank what its limits would make of a request. Nothing is charged."`
	Inspect limitsInspect `cmd:"" help:"Ask a running bank what an owner has left of a policy."`
	Top     limitsTop     `cmd:"" help:"Ask a running bank which keys it refused most of late. They are hashed; inspect tells whose is which."`
	Reset   limitsReset   `cmd:"" help:"Have a running bank forget what an owner has used of a policy: a customer locked out can log in again."`
}

type limitsShow struct{}

// Run prints the file as it is, comments and all.
func (limitsShow) Run(p *program) error {
	text := policyfile.DefaultFile()
	if p.limitsFile != "" {
		var err error
		if text, err = os.ReadFile(p.limitsFile); err != nil {
			return err
		}
	}
	_, err := p.out.Write(text)
	return err
}

type limitsCheck struct {
	File string `arg:"" optional:"" help:"The file; without it, the one that serve would use."`
}

// Run checks what serve would check at its start.
func (c limitsCheck) Run(p *program) error {
	file := c.File
	if file == "" {
		file = p.limitsFile
	}
	if _, err := policyfile.Open(file, httpapi.Routes()); err != nil {
		return err
	}
	if file == "" {
		file = "the built-in file"
	}
	_, err := fmt.Fprintf(p.out, "ok: %s has no faults\n", file)
	return err
}

type limitsExplain struct {
	Method  string `arg:"" help:"Such as POST."`
	Path    string `arg:"" help:"Such as /transfers."`
	Address string `help:"The client's address." placeholder:"IP"`
	User    string `help:"The caller's id; without it, somebody without a valid token." placeholder:"usr_..."`
	Plan    string `help:"The caller's plan." placeholder:"NAME"`
	Account string `help:"The account a transfer leaves." placeholder:"acct_..."`
	Email   string `help:"The e-mail address of a log-in or a password reset." placeholder:"ADDRESS"`
	JSON    bool   `name:"json" help:"Print the bank's own answer."`
}

// Run prints the answer and a line for each policy.
func (c limitsExplain) Run(ctx context.Context, p *program) error {
	question := map[string]string{"method": c.Method, "path": c.Path}
	for name, value := range map[string]string{
		"address": c.Address, "user": c.User, "plan": c.Plan, "account": c.Account, "email": c.Email,
	} {
		if value != "" {
			question[name] = value
		}
	}
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	answer, err := askAdmin(ctx, p, http.MethodPost, "/ratelimit/explain", body)
	if err != nil {
		return err
	}
	if c.JSON {
		_, err = p.out.Write(answer)
		return err
	}
	return printExplanation(p.out, answer)
}

func printExplanation(out io.Writer, answer []byte) error {
	var e struct {
		Route       string
		Answer      string
		RefusedBy   []string `json:"refused_by"`
		WaitSeconds int64    `json:"wait_seconds"`
		Policies    []struct {
			Policy, Skipped, Mode, Key string
			Cost, Remaining, Limit     int64
			Admits                     bool
			WaitSeconds                int64 `json:"wait_seconds"`
		}
	}
	if err := json.Unmarshal(answer, &e); err != nil {
		return fmt.Errorf("the bank's answer cannot be read: %w", err)
	}
	if e.Route == "" {
		e.Route = "no such route"
	}
	fmt.Fprintf(out, "%s: %s", e.Route, e.Answer)
	if len(e.RefusedBy) > 0 {
		fmt.Fprintf(out, " by %s, for %d s", strings.Join(e.RefusedBy, ", "), e.WaitSeconds)
	}
	fmt.Fprintln(out)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for i, policy := range e.Policies {
		if i == 0 {
			fmt.Fprintln(table, "policy\tanswer\tcost\tleft\tof\tmode\tkey")
		}
		switch {
		case policy.Skipped != "":
			fmt.Fprintf(table, "%s\t%s\n", policy.Policy, policy.Skipped)
		case policy.Admits:
			fmt.Fprintf(table, "%s\tadmits\t%d\t%d\t%d\t%s\t%s\n", policy.Policy, policy.Cost, policy.Remaining, policy.Limit, policy.Mode, policy.Key)
		default:
			fmt.Fprintf(table, "%s\trefuses, %d s\t%d\t%d\t%d\t%s\t%s\n", policy.Policy, policy.WaitSeconds, policy.Cost, policy.Remaining, policy.Limit, policy.Mode, policy.Key)
		}
	}
	return table.Flush()
}

type limitsTop struct{}

// Run prints a line for each of the keys refused most.
func (limitsTop) Run(ctx context.Context, p *program) error {
	answer, err := askAdmin(ctx, p, http.MethodGet, "/ratelimit/top", nil)
	if err != nil {
		return err
	}
	var top struct {
		Data []struct {
			Policy, Key string
			Count       int64
			Over        int64 `json:"at_most_too_many"`
		}
	}
	if err := json.Unmarshal(answer, &top); err != nil {
		return fmt.Errorf("the bank's answer cannot be read: %w", err)
	}
	table := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "policy\tkey\trefused of late\tat most too many")
	for _, k := range top.Data {
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\n", k.Policy, k.Key, k.Count, k.Over)
	}
	return table.Flush()
}

// limitsKey names one owner of one policy.
type limitsKey struct {
	Policy string `arg:"" help:"Such as login-account."`
	Owner  string `arg:"" help:"An address, an e-mail address or usr_..., whatever the policy counts."`
	Part   string `help:"The account, of transfers-account." placeholder:"acct_..."`
	Plan   string `help:"The owner's plan, of user and daily." placeholder:"NAME"`
}

func (k limitsKey) path() string {
	query := url.Values{}
	if k.Part != "" {
		query.Set("part", k.Part)
	}
	if k.Plan != "" {
		query.Set("plan", k.Plan)
	}
	return "/ratelimit/keys/" + url.PathEscape(k.Policy) + "/" + url.PathEscape(k.Owner) + "?" + query.Encode()
}

type limitsInspect struct {
	limitsKey
}

// Run prints the bank's answer: one line of JSON.
func (c limitsInspect) Run(ctx context.Context, p *program) error {
	answer, err := askAdmin(ctx, p, http.MethodGet, c.path(), nil)
	if err != nil {
		return err
	}
	_, err = p.out.Write(answer)
	return err
}

type limitsReset struct {
	limitsKey
}

// Run says what was done; a policy that does not exist is an error.
func (c limitsReset) Run(ctx context.Context, p *program) error {
	if _, err := askAdmin(ctx, p, http.MethodDelete, c.path(), nil); err != nil {
		return err
	}
	_, err := fmt.Fprintf(p.out, "reset: %s of %s\n", c.Policy, c.Owner)
	return err
}

// askAdmin calls the admin listener of a running bank. A refusal becomes an error with the problem's own words.
func askAdmin(ctx context.Context, p *program, method, path string, body []byte) ([]byte, error) {
	if p.adminListen == "" {
		return nil, errors.New("--admin-listen is off: name the address of the running bank's admin listener")
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, "http://"+reachable(p.adminListen)+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask the running bank at --admin-listen: %w", err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= http.StatusBadRequest {
		return nil, problemError(response.Status, answer)
	}
	return answer, nil
}

// problemError is a problem body as an error of several lines.
func problemError(status string, body []byte) error {
	var problem struct {
		Title, Detail string
		Errors        []struct{ Detail, Pointer, Parameter string }
	}
	if json.Unmarshal(body, &problem) != nil || problem.Title == "" {
		return fmt.Errorf("the bank answers %s", status)
	}
	text := strings.TrimSpace(problem.Title + ". " + problem.Detail)
	for _, fault := range problem.Errors {
		text += "\n" + fault.Pointer + fault.Parameter + ": " + fault.Detail
	}
	return errors.New(text)
}
