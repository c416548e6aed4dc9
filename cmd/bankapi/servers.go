package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// What one connection may cost.
const (
	readHeaderTimeout = 5 * time.Second // a client that sends nothing
	readTimeout       = 15 * time.Second
	writeMargin       = 10 * time.Second // beyond the handler's own time, for a slow reader of the answer
	profileTime       = 5 * time.Minute  // the admin listener's longest answer
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 16 << 10
)

// listen binds an address, so that a wrong one is known before anything else is started.
func listen(ctx context.Context, setting, address string) (net.Listener, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s is in use: stop what listens there, or choose another address with --%s (port 0 takes a free one)", address, setting)
	case err != nil:
		return nil, fmt.Errorf("--%s: %w", setting, err)
	}
	return listener, nil
}

// site is one listener and what answers there.
type site struct {
	listener net.Listener
	server   *http.Server
}

func newSite(l net.Listener, h http.Handler, longest time.Duration, log *slog.Logger) site {
	return site{l, &http.Server{
		Handler:           h,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      longest + writeMargin,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}}
}

// serveSites answers requests until ctx ends; then it takes no more, and returns when those in flight are answered or
// grace is over.
func serveSites(ctx context.Context, grace time.Duration, sites []site) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, s := range sites {
		group.Go(func() error {
			if err := s.server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("serve on %s: %w", s.listener.Addr(), err)
			}
			return nil
		})
		group.Go(func() error {
			<-ctx.Done()
			return s.shutDown(context.WithoutCancel(ctx), grace)
		})
	}
	return group.Wait()
}

func (s site) shutDown(ctx context.Context, grace time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if err := s.server.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("requests on %s were cut off after %v", s.listener.Addr(), grace), s.server.Close())
	}
	return nil
}
