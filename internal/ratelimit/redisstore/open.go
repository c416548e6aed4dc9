package redisstore

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/redis/go-redis/v9"
)

// Open makes a client for a URL, tuned for a limiter: a command obeys its context's deadline, a server that is down is
// found to be at the first try, and a command that may have been executed is not sent again, because a claim charged
// twice is a customer refused. (A Cluster's client alone may do so when a node breaks off.)
//
//	redis://user:password@host:6379/0                              one server (rediss:// with TLS, unix:// a socket)
//	redis://host:26379?master_name=main&addr=host2:26379           the master that Sentinels name
//	redis://host:7000?cluster=true&addr=host2:7000                 a Cluster
//
// It does not connect: the first command does.
func Open(rawURL string) (redis.UniversalClient, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		// The error of url.Parse repeats the URL, and the URL may hold a password.
		return nil, fmt.Errorf("redis URL: %w", errors.Unwrap(err))
	}
	query := u.Query()
	switch {
	case query.Get("master_name") != "":
		return openSentinel(rawURL)
	case query.Get("cluster") == "true":
		query.Del("cluster")
		u.RawQuery = query.Encode()
		return openCluster(u.String())
	}
	return openSingle(rawURL)
}

func openSingle(rawURL string) (redis.UniversalClient, error) {
	o, err := redis.ParseURL(rawURL)
	if err != nil {
		return nil, fmt.Errorf("redis URL: %w", err)
	}
	o.MaxRetries, o.DialerRetries, o.ContextTimeoutEnabled = -1, 1, true
	return redis.NewClient(o), nil
}

func openSentinel(rawURL string) (redis.UniversalClient, error) {
	o, err := redis.ParseFailoverURL(rawURL)
	if err != nil {
		return nil, fmt.Errorf("redis Sentinel URL: %w", err)
	}
	o.MaxRetries, o.DialerRetries, o.ContextTimeoutEnabled = -1, 1, true
	return redis.NewFailoverClient(o), nil
}

func openCluster(rawURL string) (redis.UniversalClient, error) {
	o, err := redis.ParseClusterURL(rawURL)
	if err != nil {
		return nil, fmt.Errorf("redis Cluster URL: %w", err)
	}
	o.DialerRetries, o.ContextTimeoutEnabled = 1, true
	return redis.NewClusterClient(o), nil
}
