package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/bankapi/internal/telemetry"
)

// redisLog takes what go-redis says by itself, such as that it cannot connect, which it says for every request while
// Redis is away. Each kind of message is logged at most once a second.
type redisLog struct {
	log  *slog.Logger
	said telemetry.Seldom // by format, of which the library has a few
}

// logRedis turns the library's messages from stderr to our log. It has one logger for the whole process, and none for a
// client, so the program sets it, once, and not the package that opens clients.
func logRedis(log *slog.Logger) { redis.SetLogger(&redisLog{log: log}) }

// Printf has the signature that go-redis wants.
func (l *redisLog) Printf(ctx context.Context, format string, v ...any) {
	if more, due := l.said.Due(time.Now(), format); due {
		l.log.WarnContext(ctx, "redis client", "said", fmt.Sprintf(format, v...), "more_since_last", more)
	}
}
