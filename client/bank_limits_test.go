package client_test

import (
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/bankapi/client"
)

// honestClient sends four transfers in a row, two more than there is room for. Each that is refused waits as told, and is
// let in the first time it comes back.
func honestClient(t *testing.T, url string) {
	net := newNetwork(t)
	c := newCustomer(t, url, net, &client.Retrier{Base: net})
	for n := range 4 {
		before := net.refused.Load()
		if _, err := c.Transfer(t.Context(), client.NewKey(), c.order(1)); err != nil {
			t.Errorf("transfer %d: %v", n, err)
		}
		if refused := net.refused.Load() - before; refused > 1 {
			t.Errorf("transfer %d was refused %d times", n, refused)
		}
	}
	if net.refused.Load() < 2 {
		t.Errorf("%d refusals: there was nothing to be honest about", net.refused.Load())
	}
}

// pacedClient sends reads and transfers from many goroutines at once, four times what there is room for.
func pacedClient(t *testing.T, url string) {
	net := newNetwork(t)
	c := newCustomer(t, url, net, &client.Retrier{Base: &client.Pacer{Base: net, Cost: client.Costs}})
	var wg sync.WaitGroup
	for n := range 16 {
		wg.Go(func() {
			var err error
			if n%4 == 0 {
				_, err = c.Transfer(t.Context(), client.NewKey(), c.order(1))
			} else {
				_, err = c.Account(t.Context(), c.from.ID)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if sent := c.sent(t); sent != 4 || net.refused.Load() > 0 {
		t.Errorf("%d of 4 sent, %d requests refused", sent, net.refused.Load())
	}
}

// lossy lets requests through and loses every answer but each third: whole, or after half of its body.
type lossy struct {
	*network
	tries atomic.Int64
}

func (l *lossy) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := l.network.RoundTrip(req)
	if err != nil || req.Method != http.MethodPost || req.Header.Get("Idempotency-Key") == "" {
		return res, err
	}
	switch l.tries.Add(1) % 3 {
	case 1:
		_ = res.Body.Close()
		return nil, io.ErrUnexpectedEOF
	case 2:
		half := io.LimitReader(res.Body, max(1, res.ContentLength/2))
		res.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(half, broken{}), res.Body}
	}
	return res, nil
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// lostAnswers sends transfers whose first two answers are lost. The third says what the first had done.
func lostAnswers(t *testing.T, url string) {
	net := newNetwork(t)
	way := &lossy{network: net}
	c := newCustomer(t, url, net, &client.Retrier{Base: &client.Pacer{Base: way, Cost: client.Costs}})
	for range 2 {
		got, err := c.Transfer(t.Context(), client.NewKey(), c.order(100))
		if err != nil || !got.Replayed || got.Amount != 100 {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if sent := c.sent(t); sent != 200 || way.tries.Load() != 6 {
		t.Errorf("two transfers of 100, each tried three times: %d sent in %d tries", sent, way.tries.Load())
	}
}

// aThousandRefused ask at the same moment from one address that has room for twenty. Those refused are told one second,
// and come back over half a second more.
func aThousandRefused(t *testing.T, url string) {
	const clients = 1000
	net := newNetwork(t)
	net.checked = &http.Transport{MaxIdleConnsPerHost: 100, MaxConnsPerHost: 100}
	var mu sync.Mutex
	var waits []time.Duration
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			var refused, back time.Time
			watched := transport(func(req *http.Request) (*http.Response, error) {
				if !refused.IsZero() {
					back = time.Now()
				}
				res, err := net.RoundTrip(req)
				if refused.IsZero() && err == nil && res.StatusCode == http.StatusTooManyRequests {
					refused = time.Now()
				}
				return res, err
			})
			one := &client.Client{URL: url, HTTP: &http.Client{Transport: &client.Retrier{Base: watched, Attempts: 2}}}
			_, _ = one.Rates(t.Context(), "NGN")
			if !back.IsZero() {
				mu.Lock()
				defer mu.Unlock()
				waits = append(waits, back.Sub(refused))
			}
		})
	}
	wg.Wait()
	slots, most := map[int64]int{}, 0
	for _, wait := range waits {
		if wait < time.Second {
			t.Errorf("told 1 s, came back after %v", wait)
		}
		slots[wait.Milliseconds()/50]++
		most = max(most, slots[wait.Milliseconds()/50])
	}
	t.Logf("%d were refused, at most %d waited equally long to within 50 ms", len(waits), most)
	if len(waits) < 800 || most > len(waits)/4 { // ten slots, a tenth each when even
		t.Errorf("%d were refused and came back, %d of them after the same time", len(waits), most)
	}
}
