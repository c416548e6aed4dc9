package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"strings"
	"time"

	"example.com/bankapi/internal/load"
)

// other is a ledger of somebody else that listens already: one more contender, described by a file. In header and body
// {from}, {to}, {token}, {amount} and {key} stand for what changes from request to request.
type other struct {
	Name    string
	URL     string            // of POST requests
	Status  int               // of success
	Header  map[string]string // Content-Type and Content-Length are added
	Body    string
	Members string // file with a line for each account: its name, and a token that may pay from it, or nothing

	address string
	crowd   []load.Member
}

func readOther(name string) (*other, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	o := &other{}
	if err := json.Unmarshal(text, o); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	u, err := url.Parse(o.URL)
	if err != nil || u.Scheme != "http" || u.Port() == "" {
		return nil, fmt.Errorf("%s: url: %q is not http://host:port/path", name, o.URL)
	}
	o.address = u.Host
	return o, o.readMembers()
}

func (o *other) readMembers() error {
	file, err := os.Open(o.Members)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		account, token, _ := strings.Cut(lines.Text(), " ")
		o.crowd = append(o.crowd, load.Member{Account: account, Token: token})
	}
	if len(o.crowd) < 2 {
		return errors.New(o.Members + ": two accounts at least")
	}
	return lines.Err()
}

// requests makes those of one connection. They are put together anew each time, which costs the client some µs more
// than a request to the bank does.
func (o *other) requests(hot bool) func() load.Requests {
	path := "/" + strings.SplitN(strings.TrimPrefix(o.URL, "http://"), "/", 2)[1]
	return func() load.Requests {
		return func() []byte {
			to := rand.IntN(len(o.crowd))
			if hot {
				to = 0
			}
			from := (to + 1 + rand.IntN(len(o.crowd)-1)) % len(o.crowd)
			fill := strings.NewReplacer(
				"{from}", o.crowd[from].Account, "{to}", o.crowd[to].Account, "{token}", o.crowd[from].Token,
				"{amount}", fmt.Sprint(100+rand.IntN(900)), "{key}", fmt.Sprintf("%016x%016x", rand.Uint64(), rand.Uint64()))
			body := fill.Replace(o.Body)
			var b strings.Builder
			fmt.Fprintf(&b, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n", path, o.address, len(body))
			for name, value := range o.Header {
				fmt.Fprintf(&b, "%s: %s\r\n", name, fill.Replace(value))
			}
			return []byte(b.String() + "\r\n" + body)
		}
	}
}

// others is a contender for each number of connections.
func (r *runner) others(hot bool) (all []contender) {
	if r.other == nil {
		return nil
	}
	for _, n := range r.connections {
		all = append(all, contender{kind: "other", name: r.other.Name, clients: n, ledger: inNone,
			slice: func(ctx context.Context, warmUp, length time.Duration) (sample, error) {
				result, err := load.Run{
					Addresses: []string{r.other.address}, Connections: n, Requests: r.other.requests(hot), WarmUp: warmUp, Time: length, Watch: r.watch,
				}.Do(ctx)
				return ofLoad(result, r.other.Status), err
			}})
	}
	return all
}
