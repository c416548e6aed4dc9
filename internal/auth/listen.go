package auth

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// The listener's pulse. Without an answer nothing is fresh once RevocationLag has passed since the last question.
const (
	pulse        = 300 * time.Millisecond
	pulseTimeout = 600 * time.Millisecond
	reconnectIn  = 250 * time.Millisecond
)

// Listen hears of revocations on a connection of its own until ctx ends, and then returns nil. A lost connection is
// logged and made again; until then each Authenticate asks the database. Run it once per Service.
func (s *Service) Listen(ctx context.Context) error {
	for {
		if err := s.listenOnce(ctx); ctx.Err() == nil {
			s.log.WarnContext(ctx, "revocation listener lost its connection", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(reconnectIn):
		}
	}
}

func (s *Service) listenOnce(ctx context.Context) error {
	config := s.store.pool.Config().ConnConfig.Copy()
	config.OnNotification = func(_ *pgconn.PgConn, n *pgconn.Notification) { s.revoked(n.Payload) }
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer closeSoon(ctx, conn)
	if _, err := conn.Exec(ctx, "LISTEN auth_revoked"); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	l := new(listener)
	s.cache.attach(l)
	defer s.cache.attach(nil)
	for {
		if err := s.hear(ctx, conn, l); err != nil {
			return err
		}
	}
}

// hear takes one pulse: what was revoked before the answer has been handled when the answer is here. Then it waits for
// the next one or for a revocation, whichever comes first.
func (s *Service) hear(ctx context.Context, conn *pgx.Conn, l *listener) error {
	asked := s.now()
	ping, cancel := context.WithTimeout(ctx, pulseTimeout)
	defer cancel()
	if err := conn.Ping(ping); err != nil {
		return fmt.Errorf("ping: %w", err)
	}
	l.trustTill.Store(asked.Add(RevocationLag).UnixNano())

	wait, cancel := context.WithTimeout(ctx, pulse)
	defer cancel()
	err := conn.PgConn().WaitForNotification(wait)
	if err != nil && !errors.Is(wait.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("wait: %w", err)
	}
	return nil
}

// revoked handles a notification. One that is not the hash of a token drops everything: NOTIFY auth_revoked by hand.
func (s *Service) revoked(payload string) {
	raw, err := hex.DecodeString(payload)
	if err != nil || len(raw) != len(tokenHash{}) {
		s.cache.forgetAll()
		return
	}
	s.forget(tokenHash(raw))
}

func closeSoon(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = conn.Close(ctx) // nothing of it is needed any more
}
