package redisstore_test

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"example.com/bankapi/internal/ratelimit/redisstore"
)

func TestOpenTellsTheKindsOfServerApart(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"redis://127.0.0.1:6379/2":                                      "single",
		"redis://ada:secret@127.0.0.1:6379":                             "single",
		"unix:///run/redis.sock":                                        "single",
		"redis://127.0.0.1:7000?cluster=true&addr=127.0.0.1:7001":       "cluster",
		"redis://127.0.0.1:26379?master_name=main&addr=127.0.0.1:26380": "single", // a failover client is one
	} {
		client, err := redisstore.Open(url)
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		got := "single"
		if _, is := client.(*redis.ClusterClient); is {
			got = "cluster"
		}
		if got != want {
			t.Errorf("%s: got a %s client, want %s", url, got, want)
		}
		_ = client.Close()
	}
}

func TestOpenKeepsThePasswordToItself(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"redis://ada:hunter2@host:port/0", "http://ada:hunter2@host", "redis://ada:hunter2@host/x", "redis://ada:hunter2%zz@host",
		"redis://ada:hunter2@host?nonsense=1", "redis://ada:hunter2@host?cluster=true&nonsense=1",
	} {
		_, err := redisstore.Open(url)
		if err == nil {
			t.Errorf("%s: got no error", url)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error shows the password: %v", url, err)
		}
	}
}
