package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/bankapi/internal/clientip"
	"example.com/bankapi/internal/ratelimit/redisstore"
	"example.com/bankapi/internal/transfers"
)

// Config is every setting, as it is written. All are text: check reads them, so that all faults are told at once.
type Config struct {
	DatabaseURL string `name:"database-url" env:"DATABASE_URL" placeholder:"URL" group:"database" help:"PostgreSQL to use, postgres://user:password@host/database. Without it a private server runs in the data directory."`
	DataDir     string `env:"BANKAPI_DATA_DIR" default:".bankapi" placeholder:"DIR" group:"database" help:"Where the private server keeps its data between runs."`

	Listen         string `env:"BANKAPI_LISTEN" default:"127.0.0.1:8080" placeholder:"HOST:PORT" group:"http" help:"Where the API listens. Port 0 takes a free one."`
	AdminListen    string `env:"BANKAPI_ADMIN_LISTEN" default:"127.0.0.1:8081" placeholder:"HOST:PORT" group:"http" help:"Where metrics, audit and profiles are served, without credentials, to whoever asks by IP address or as localhost: keep it private. 'off' serves none."`
	TrustedProxies string `env:"TRUSTED_PROXIES" placeholder:"CIDR,..." group:"http" help:"Proxies whose X-Forwarded-For is believed, such as 10.0.0.0/8. Without it the peer is the client."`
	AllowedOrigins string `env:"BANKAPI_ALLOWED_ORIGINS" placeholder:"ORIGIN,..." group:"http" help:"Web pages that may call the API, such as https://bank.example. Without it all may: there are no cookies to abuse."`
	BehindTLS      string `name:"behind-tls" env:"BANKAPI_BEHIND_TLS" default:"off" placeholder:"on|off" group:"http" help:"TLS ends in front of the bank: send Strict-Transport-Security."`
	RequestTimeout string `env:"BANKAPI_REQUEST_TIMEOUT" default:"10s" placeholder:"TIME" group:"http" help:"Longest time for one request."`
	MaxConnections string `env:"BANKAPI_MAX_CONNECTIONS" default:"10000" placeholder:"N" group:"http" help:"Connections that may be open to the API at a time; the next ones wait. Each takes a file descriptor and some 20 kB."`
	ShutdownGrace  string `env:"BANKAPI_SHUTDOWN_GRACE" default:"20s" placeholder:"TIME" group:"http" help:"Time for the requests in flight when the bank is told to stop."`

	RedisURL      string `name:"redis-url" env:"REDIS_URL" placeholder:"URL" group:"limits" help:"Redis in which several processes share the limits of requests, redis://host:6379/0. Without it each counts in its memory."`
	LimitsFile    string `name:"limits-file" env:"LIMITS_FILE" placeholder:"FILE" group:"limits" help:"Policy file: who may do how much. 'bankapi limits show' prints the built-in one. Read again when it changes and on SIGHUP."`
	FleetSize     string `env:"BANKAPI_FLEET_SIZE" placeholder:"N" group:"limits" help:"Processes that share the limits through Redis: while it is away, each admits its part of them. Without it as the policy file says, which says 1 unless it is yours."`
	Demo          string `env:"BANKAPI_DEMO" default:"on" placeholder:"on|off" group:"limits" help:"Seed demo users with a well-known password at start. Turn it off where strangers can come."`
	OpeningCredit string `env:"BANKAPI_OPENING_CREDIT" default:"100000" placeholder:"N" group:"limits" help:"Minor units given to each account that is opened; 0 gives none."`

	WebhookRate     string `env:"BANKAPI_WEBHOOK_RATE" default:"5" placeholder:"N" group:"webhooks" help:"Requests a second to one host that customers have their events sent to."`
	WebhookLoopback string `env:"BANKAPI_WEBHOOK_LOOPBACK" placeholder:"on|off" group:"webhooks" help:"Events may be sent to this machine, also without TLS. Without it as --demo says."`

	SMTPURL  string `name:"smtp-url" env:"SMTP_URL" placeholder:"URL" group:"mail" help:"Server that sends mail, smtp://user:password@host:587 (STARTTLS) or smtps://. Without it mail is written to the log, the tokens in it too."`
	MailFrom string `env:"MAIL_FROM" placeholder:"ADDRESS" group:"mail" help:"Address that mail comes from, such as Bank <bank@example.com>."`

	Fault string `env:"BANKAPI_FAULT" placeholder:"POINT,..." group:"fault" help:"Kill the bank at after_locks, before_commit or after_commit_before_response, or cut the connection at drop_response: the first time, with POINT:3 the third, with POINT:5% by chance. Or slow_commit=200ms."`

	LogFormat string `env:"BANKAPI_LOG_FORMAT" default:"text" placeholder:"text|json" group:"log" help:"How the log is written to standard error."`
	LogLevel  string `env:"BANKAPI_LOG_LEVEL" default:"info" placeholder:"LEVEL" group:"log" help:"Least level logged: debug, info, warn or error."`
}

// settings is a Config that was checked, ready for use.
type settings struct {
	databaseURL string // "" for a private server
	dataDir     string
	redisURL    string // "" for none
	limitsFile  string // "" for the built-in one
	fleetSize   int    // 0 for what the policy file says

	listen         string
	adminListen    string // "" for none
	trustedProxies []netip.Prefix
	origins        []string
	behindTLS      bool
	requestTimeout time.Duration
	maxConnections int
	shutdownGrace  time.Duration

	demo          bool
	faults        faults
	openingCredit transfers.Amount
	mail          mailer // nil for none

	webhookRate     int64 // a second and partner
	webhookLoopback bool
}

// check reads the settings. Each fault is one line that names the setting and says what would be right; no fault
// repeats a URL, which may hold a password.
func (c Config) check() (settings, []error) {
	var faults []error
	fault := func(setting string, err error) {
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", setting, err))
		}
	}
	s := settings{databaseURL: c.DatabaseURL, dataDir: c.DataDir, redisURL: c.RedisURL, limitsFile: c.LimitsFile, listen: c.Listen, adminListen: c.AdminListen}
	var err error

	fault("--database-url (DATABASE_URL)", checkDatabaseURL(c.DatabaseURL))
	if c.DatabaseURL == "" && c.DataDir == "" {
		fault("--data-dir (BANKAPI_DATA_DIR)", errors.New("is empty; name a directory such as .bankapi"))
	}
	fault("--listen (BANKAPI_LISTEN)", checkAddress(c.Listen))
	if c.AdminListen == "off" {
		s.adminListen = ""
	} else {
		fault("--admin-listen (BANKAPI_ADMIN_LISTEN)", checkAddress(c.AdminListen))
	}
	s.trustedProxies, err = clientip.ParsePrefixes(c.TrustedProxies)
	fault("--trusted-proxies (TRUSTED_PROXIES)", oneLine(err))
	s.origins, err = parseOrigins(c.AllowedOrigins)
	fault("--allowed-origins (BANKAPI_ALLOWED_ORIGINS)", err)
	s.behindTLS, err = parseSwitch(c.BehindTLS)
	fault("--behind-tls (BANKAPI_BEHIND_TLS)", err)
	s.requestTimeout, err = parseDuration(c.RequestTimeout, time.Minute)
	fault("--request-timeout (BANKAPI_REQUEST_TIMEOUT)", err)
	s.maxConnections, err = parseCount(c.MaxConnections)
	fault("--max-connections (BANKAPI_MAX_CONNECTIONS)", err)
	s.shutdownGrace, err = parseDuration(c.ShutdownGrace, time.Hour)
	fault("--shutdown-grace (BANKAPI_SHUTDOWN_GRACE)", err)
	fault("--redis-url (REDIS_URL)", checkRedisURL(c.RedisURL))
	if c.FleetSize != "" {
		s.fleetSize, err = parseCount(c.FleetSize)
		fault("--fleet-size (BANKAPI_FLEET_SIZE)", err)
	}
	s.demo, err = parseSwitch(c.Demo)
	fault("--demo (BANKAPI_DEMO)", err)
	s.faults, err = parseFaults(c.Fault, s.demo)
	fault("--fault (BANKAPI_FAULT)", err)
	s.openingCredit, err = parseCredit(c.OpeningCredit)
	fault("--opening-credit (BANKAPI_OPENING_CREDIT)", err)
	s.webhookRate, err = parseWebhookRate(c.WebhookRate)
	fault("--webhook-rate (BANKAPI_WEBHOOK_RATE)", err)
	s.webhookLoopback, err = parseWebhookLoopback(c.WebhookLoopback, s.demo)
	fault("--webhook-loopback (BANKAPI_WEBHOOK_LOOPBACK)", err)
	s.mail, err = parseMail(c.SMTPURL, c.MailFrom)
	fault("--smtp-url (SMTP_URL)", err)
	fault("--log-format (BANKAPI_LOG_FORMAT)", checkWord(c.LogFormat, "text", "json"))
	fault("--log-level (BANKAPI_LOG_LEVEL)", checkWord(c.LogLevel, "debug", "info", "warn", "error"))
	return s, faults
}

func checkDatabaseURL(s string) error {
	if s == "" {
		return nil
	}
	scheme, _, isURL := strings.Cut(s, "://")
	if isURL && scheme != "postgres" && scheme != "postgresql" {
		return fmt.Errorf("%q is not PostgreSQL; want postgres://user:password@host:5432/database", scheme)
	}
	if _, err := pgxpool.ParseConfig(s); err != nil {
		return errors.New("cannot be read; want postgres://user:password@host:5432/database, with special characters of the password as %XX")
	}
	return nil
}

func checkRedisURL(s string) error {
	if s == "" {
		return nil
	}
	client, err := redisstore.Open(s)
	if err != nil {
		return errors.New("cannot be read; want redis://user:password@host:6379/0, or rediss:// for TLS")
	}
	return client.Close()
}

func checkAddress(s string) error {
	_, port, err := net.SplitHostPort(s)
	if err != nil {
		return fmt.Errorf("%q is no address; want host:port such as 127.0.0.1:8080", s)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("%q has no port between 0 and 65535", s)
	}
	return nil
}

// parseOrigins takes what browsers send as Origin: scheme, host and port.
func parseOrigins(csv string) ([]string, error) {
	var origins []string
	for entry := range strings.SplitSeq(csv, ",") {
		entry = strings.TrimSpace(entry)
		if entry == "" {
			continue
		}
		u, err := url.Parse(entry)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Scheme+"://"+u.Host != entry {
			return nil, fmt.Errorf("%q is no origin; want https://bank.example, without a path", entry)
		}
		origins = append(origins, entry)
	}
	return origins, nil
}

func parseSwitch(s string) (bool, error) {
	switch strings.ToLower(s) {
	case "on", "true", "yes", "1":
		return true, nil
	case "off", "false", "no", "0":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither on nor off", s)
}

func parseDuration(s string, most time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d < time.Second || d > most {
		return 0, fmt.Errorf("%q is no time between 1s and %v, such as 10s", s, most)
	}
	return d, nil
}

func parseCount(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > 1_000_000 {
		return 0, fmt.Errorf("%q is no whole number between 1 and 1000000", s)
	}
	return n, nil
}

func parseCredit(s string) (transfers.Amount, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > int64(transfers.MaxAmount) {
		return 0, fmt.Errorf("%q is no whole number of minor units between 0 and %d", s, transfers.MaxAmount)
	}
	return transfers.Amount(n), nil
}

func checkWord(s string, words ...string) error {
	if slices.Contains(words, s) {
		return nil
	}
	return fmt.Errorf("%q is none of %s", s, strings.Join(words, ", "))
}

// oneLine puts joined errors on one line.
func oneLine(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))
}
