package bench

import (
	"context"
	"io"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/httprate"

	"example.com/bankapi/internal/auth"
	"example.com/bankapi/internal/clientip"
	"example.com/bankapi/internal/httpapi"
	"example.com/bankapi/internal/ratelimit"
	"example.com/bankapi/internal/ratelimit/policyfile"
	"example.com/bankapi/internal/telemetry"
	"example.com/bankapi/internal/transfers"
)

// answer is what every handler behind a limiter says.
const answer = `{"base":"NGN","as_of":"2026-11-30T00:00:00Z","rates":{"EUR":"0.000565","USD":"0.000652"}}` + "\n"

func behind(layers ...func(http.Handler) http.Handler) http.Handler {
	r := chi.NewRouter()
	r.Use(layers...)
	r.Get("/rates", func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = []string{"application/json"}
		w.Header()["Content-Length"] = []string{strconv.Itoa(len(answer))}
		_, _ = io.WriteString(w, answer)
	})
	return r
}

// Bare is the router with a handler that answers 200.
func Bare() http.Handler { return behind() }

// HTTPRate is httprate by client address, with its own headers and its own text as the refusal.
func HTTPRate(quota int) http.Handler {
	return behind(httprate.LimitBy(quota, Period, httprate.KeyByIP))
}

// Limited is our limiter by client address: one policy, all headers, and as the refusal the same problem that the bank sends.
func Limited(quota int64) http.Handler {
	p := policy("ip", quota)
	claims := func(r *http.Request) []ratelimit.Claim {
		var buf [48]byte
		client := clientip.Bucket(clientip.Resolver{}.From(r.RemoteAddr, r.Header["X-Forwarded-For"]))
		return []ratelimit.Claim{claim(p, string(client.AppendTo(buf[:0])))}
	}
	return behind(ratelimit.Middleware(newLimiter(), claims, refuse))
}

var problemJSON = []string{"application/problem+json"}

// refuse writes the members of the bank's own refusal.
func refuse(w http.ResponseWriter, r *http.Request, d ratelimit.Decision) {
	body := make([]byte, 0, 512)
	body = append(body, `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded",`+
		`"title":"Request cannot be satisfied as assigned quota has been exceeded","status":429,`+
		`"detail":"Nothing was done and nothing was charged. Send it again in `...)
	body = strconv.AppendInt(body, int64(math.Ceil(d.RetryAfter.Seconds())), 10)
	body = append(body, ` s.","instance":"`...)
	body = append(body, r.URL.Path...) // the load's path needs no escapes
	body = append(body, `","retryable":true,"violated-policies":["`...)
	body = append(body, d.Violated[0]...)
	body = append(body, "\"]}\n"...)
	h := w.Header()
	h["Content-Type"] = problemJSON
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(http.StatusTooManyRequests)
	_, _ = w.Write(body)
}

// Product is the whole bank, with request ids, CORS, security headers, metrics and an access log of JSON lines that
// nobody keeps. Its database does not exist: a refusal needs none, and neither does the 404 that admits a request.
func Product(quota int64) http.Handler {
	log := slog.New(slog.NewJSONHandler(io.Discard, nil))
	metrics := telemetry.New()
	limits := policyfile.Default()
	limits.Policies.IP = policy("ip", quota)
	limiter := newLimiter()
	limiter.Observer = &httpapi.LimitObserver{Log: log, Metrics: metrics}
	return httpapi.New(httpapi.Deps{
		Auth: auth.New(nil, auth.Options{}), Transfers: transfers.New(nil, transfers.Options{}),
		Limiter: limiter, Limits: policyfile.NewLive(limits),
		Ready: func(context.Context) error { return nil },
		Now:   time.Now, Log: log, Metrics: metrics,
	})
}
