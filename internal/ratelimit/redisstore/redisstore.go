package redisstore

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/bankapi/internal/ratelimit"
)

// The scripts, in the order in which Redis reads them.
var (
	//go:embed lua/common.lua
	commonSource string
	//go:embed lua/buckets.lua
	bucketsSource string

	//go:embed lua/head.lua
	headSource string
	//go:embed lua/bucket.lua
	bucketSource string
	//go:embed lua/window.lua
	windowSource string
	//go:embed lua/counter.lua
	counterSource string
	//go:embed lua/log.lua
	logSource string
	//go:embed lua/stage.lua
	stageSource string

	bucketsScript = redis.NewScript(commonSource + bucketsSource)
	stageScript   = redis.NewScript(commonSource + headSource + bucketSource + windowSource + counterSource + logSource + stageSource)
)

// DefaultPrefix begins every key where Options name no other.
const DefaultPrefix = "bank:limit:"

// ErrOwners is returned by Take for claims of several owners on a Cluster, whose nodes cannot decide together. A single
// server and a master behind Sentinels take them.
var ErrOwners = errors.New("redis limits: take: claims of several owners, which a Cluster keeps apart")

// Store is a ratelimit.Store in Redis. It is safe for concurrent use.
type Store struct {
	client redis.UniversalClient
	prefix string
	split  bool // owners live on different nodes
	line   line

	now  func() time.Time // a test's clock; nil for the server's
	here func() time.Time // says which boundaries of a calendar are near
}

var _ ratelimit.Store = (*Store)(nil)

// Options are all optional.
type Options struct {
	Prefix string // of every key, without braces; DefaultPrefix
}

// New returns a store on a client. Open makes a client with the right settings; another one should have
// ContextTimeoutEnabled, so that a check ends in time, and no retries, so that a claim is not charged twice.
func New(client redis.UniversalClient, o Options) *Store {
	s := &Store{client: client, prefix: o.Prefix, line: line{client: client}, here: time.Now}
	if s.prefix == "" {
		s.prefix = DefaultPrefix
	}
	switch client.(type) {
	case *redis.ClusterClient, *redis.Ring:
		s.split = true
	}
	return s
}

// Take implements ratelimit.Store in one round trip.
func (s *Store) Take(ctx context.Context, claims []ratelimit.Claim, out []ratelimit.Status) error {
	if err := ratelimit.CheckClaims(claims, out); err != nil {
		return err
	}
	if s.split && len(byOwner(claims)) > 1 {
		return ErrOwners
	}
	return s.decide(ctx, "take", claims, out)
}

// Peek implements ratelimit.Store in one round trip, on a Cluster in one for each owner.
func (s *Store) Peek(ctx context.Context, claims []ratelimit.Claim, out []ratelimit.Status) error {
	if err := ratelimit.CheckClaims(claims, out); err != nil {
		return err
	}
	if !s.split {
		return s.decide(ctx, "peek", claims, out)
	}
	for _, own := range byOwner(claims) {
		answers := make([]ratelimit.Status, len(own))
		if err := s.decide(ctx, "peek", pick(claims, own), answers); err != nil {
			return err
		}
		for i, n := range own {
			out[n] = answers[i]
		}
	}
	return nil
}

// Give implements ratelimit.Store in one round trip, on a Cluster in one for each owner.
func (s *Store) Give(ctx context.Context, claims []ratelimit.Claim) error {
	if err := ratelimit.CheckClaims(claims, make([]ratelimit.Status, len(claims))); err != nil {
		return err
	}
	if !s.split {
		return s.give(ctx, claims)
	}
	for _, own := range byOwner(claims) {
		if err := s.give(ctx, pick(claims, own)); err != nil {
			return err
		}
	}
	return nil
}

// Reset implements ratelimit.Store in one round trip. Each key is forgotten by itself.
func (s *Store) Reset(ctx context.Context, claims []ratelimit.Claim) error {
	if err := ratelimit.CheckClaims(claims, make([]ratelimit.Status, len(claims))); err != nil || len(claims) == 0 {
		return err
	}
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range claims {
			p.Unlink(ctx, key(s.prefix, claims[i].Policy, claims[i].Key))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("redis limits: reset: %w", err)
	}
	return nil
}

func (s *Store) decide(ctx context.Context, command string, claims []ratelimit.Claim, out []ratelimit.Status) error {
	if len(claims) == 0 {
		return nil
	}
	b := s.pack(claims)
	run, read := s.stage(command), (*batch).statuses
	if command == "take" && b.onlyBuckets() {
		run, read = s.buckets, (*batch).bucketStatuses
	}
	answer, err := run(ctx, b).Int64Slice()
	if err == nil {
		err = read(b, answer)
	}
	if err != nil {
		return fmt.Errorf("redis limits: %s: %w", command, err)
	}
	for i, n := range b.of {
		out[i] = b.sums[n].status
	}
	return nil
}

func (s *Store) give(ctx context.Context, claims []ratelimit.Claim) error {
	b := s.packGives(claims)
	if len(b.sums) == 0 {
		return nil
	}
	if err := s.stage("give")(ctx, b).Err(); err != nil && !errors.Is(err, redis.Nil) {
		return fmt.Errorf("redis limits: give: %w", err)
	}
	return nil
}

// stage and buckets send a script by its digest, and in full where the server does not know it.
func (s *Store) stage(command string) func(context.Context, *batch) *redis.Cmd {
	return func(ctx context.Context, b *batch) *redis.Cmd {
		keys, args := b.arguments(s.clock(), ratelimit.InstantOf(s.here()), command)
		return s.line.run(ctx, stageScript, keys, args)
	}
}

func (s *Store) buckets(ctx context.Context, b *batch) *redis.Cmd {
	keys, args := b.bucketArguments(s.clock())
	return s.line.run(ctx, bucketsScript, keys, args)
}

// clock is what the scripts are told of the time.
func (s *Store) clock() any {
	if s.now == nil {
		return ""
	}
	return s.now().UnixMicro()
}
