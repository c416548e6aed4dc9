package main

import (
	"context"
	"log/slog"
	"time"
)

// What is kept for how long, and how it goes.
const (
	tidyEvery      = time.Minute
	tidyBatch      = 1000           // rows deleted in one short transaction
	keysLive       = 24 * time.Hour // idempotency keys: the API's promise
	betweenBatches = 50 * time.Millisecond
)

// tidy deletes what has served its time, in small batches, until ctx ends. Instances may do it at once. A failure is
// logged and tried again the next time: nothing depends on it but disk space.
func (b *bank) tidy(log *slog.Logger) func(context.Context) error {
	chores := map[string]func(context.Context) (int64, error){
		"limits":             func(ctx context.Context) (int64, error) { return b.limits.guards.Purge(ctx, tidyBatch) },
		"sessions":           func(ctx context.Context) (int64, error) { return b.accounts.Purge(ctx, tidyBatch) },
		"webhook_deliveries": func(ctx context.Context) (int64, error) { return b.hooks.Purge(ctx, tidyBatch) },
		"password_resets":    func(ctx context.Context) (int64, error) { return b.accounts.PurgeResets(ctx, tidyBatch) },
		"idempotency_keys":   b.forgetKeys(),
	}
	return func(ctx context.Context) error {
		ticker := time.NewTicker(tidyEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-ticker.C:
			}
			for name, purge := range chores {
				purgeAll(ctx, log, name, purge)
			}
		}
	}
}

// forgetKeys goes on where its last batch ended, and starts over when it has come to the end.
func (b *bank) forgetKeys() func(context.Context) (int64, error) {
	var from time.Time
	return func(ctx context.Context) (int64, error) {
		now, err := b.keys.Now(ctx)
		if err != nil {
			return 0, err
		}
		n, goOn, err := b.keys.Purge(ctx, from, now.Add(-keysLive), tidyBatch)
		if from = goOn; n < tidyBatch {
			from = time.Time{}
		}
		return n, err
	}
}

func purgeAll(ctx context.Context, log *slog.Logger, name string, purge func(context.Context) (int64, error)) {
	for ctx.Err() == nil {
		n, err := purge(ctx)
		if err != nil && ctx.Err() == nil {
			log.WarnContext(ctx, "purge failed", "what", name, "error", err)
		}
		if err != nil || n < tidyBatch {
			return
		}
		time.Sleep(betweenBatches)
	}
}
