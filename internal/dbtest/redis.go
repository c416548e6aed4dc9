package dbtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Redis returns a client of a Redis database that is this test's alone, empty, and emptied afterwards.
func Redis(t testing.TB) *redis.Client {
	t.Helper()
	options, err := redis.ParseURL(RedisURL(t))
	if err != nil {
		t.Fatalf("dbtest: %v", err)
	}
	client := redis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// RedisURL returns the address of a Redis database that is this test's alone, empty, and emptied afterwards.
func RedisURL(t testing.TB) string {
	t.Helper()
	server, err := redisServer()
	if err != nil {
		t.Fatalf("dbtest: Redis: %v", err)
	}
	number, err := claimDatabase(server)
	if err != nil {
		t.Fatalf("dbtest: claim a Redis database: %v", err)
	}
	t.Cleanup(func() {
		if err := giveBack(server, number); err != nil {
			t.Errorf("dbtest: give back Redis database %d: %v", number, err)
		}
	})
	return onNumber(server, number)
}

var redisServer = sync.OnceValues(func() (string, error) {
	if given := os.Getenv("BANKAPI_TEST_REDIS_URL"); given != "" && !containersRequired() {
		announce("Redis", "BANKAPI_TEST_REDIS_URL")
		return given, nil
	}
	server, origin, err := newRedis()
	if err != nil {
		return "", err
	}
	announce("Redis", origin)
	return server.url(), nil
})

func newRedis() (instance, string, error) {
	use, err := useContainers(redisImage)
	if err != nil {
		return nil, "", err
	}
	if use {
		server, err := redisContainer()
		return server, "a container of " + redisImage, err
	}
	server, err := newLocalRedis()
	if err != nil {
		return nil, "", fmt.Errorf("%w\nGive the tests a server: set BANKAPI_TEST_REDIS_URL, or start a container engine "+
			"that has %s, or install redis-server (apt-get install redis-server)", err, redisImage)
	}
	return server, "local binaries", nil
}

// redisArgs start a Redis that keeps nothing and has a database for every test of a process.
var redisArgs = []string{"--databases", "1024", "--save", "", "--appendonly", "no"}

// claimLife is how long a claim outlives a test process that was killed.
const claimLife = 10 * time.Minute

func claimKey(number int) string { return "dbtest:claim:" + strconv.Itoa(number) }

// claimDatabase takes a numbered database that no other test has, on a server that other processes may share. The
// claims stand in database 0.
func claimDatabase(server string) (int, error) {
	ctx := context.Background()
	zero, err := dial(server, 0)
	if err != nil {
		return 0, err
	}
	defer zero.Close()
	count, err := zero.ConfigGet(ctx, "databases").Result()
	if err != nil {
		return 0, err
	}
	databases, err := strconv.Atoi(count["databases"])
	if err != nil {
		return 0, err
	}
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		for number := 1; number < databases; number++ {
			taken, err := zero.SetNX(ctx, claimKey(number), os.Getpid(), claimLife).Result()
			if err != nil {
				return 0, err
			}
			if taken {
				return number, flush(server, number)
			}
		}
	}
	return 0, errors.New("all of them are taken: raise the server's setting `databases`")
}

func giveBack(server string, number int) error {
	zero, err := dial(server, 0)
	if err != nil {
		return err
	}
	defer zero.Close()
	return errors.Join(flush(server, number), zero.Del(context.Background(), claimKey(number)).Err())
}

func flush(server string, number int) error {
	client, err := dial(server, number)
	if err != nil {
		return err
	}
	defer client.Close()
	return client.FlushDB(context.Background()).Err()
}

func dial(server string, number int) (*redis.Client, error) {
	options, err := redis.ParseURL(onNumber(server, number))
	if err != nil {
		return nil, err
	}
	return redis.NewClient(options), nil
}

func onNumber(server string, number int) string {
	u, err := url.Parse(server)
	if err != nil {
		panic(fmt.Sprintf("dbtest: BANKAPI_TEST_REDIS_URL must be a redis:// URL: %v", err))
	}
	u.Path = "/" + strconv.Itoa(number)
	return u.String()
}
