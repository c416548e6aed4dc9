package dbtest

import "testing"

// Server is a server that only one test uses and may break. It ends with the test.
type Server struct {
	t  testing.TB
	in instance
}

// PrivatePostgres starts a PostgreSQL for one test. Its database is empty: migrate it. It does not lose what was
// committed when it is killed.
func PrivatePostgres(t testing.TB) *Server {
	t.Helper()
	return private(t, "PostgreSQL", newPostgres)
}

// PrivateRedis starts a Redis for one test. It forgets everything when it ends.
func PrivateRedis(t testing.TB) *Server {
	t.Helper()
	return private(t, "Redis", newRedis)
}

func private(t testing.TB, kind string, start func() (instance, string, error)) *Server {
	t.Helper()
	in, _, err := start()
	if err != nil {
		t.Fatalf("dbtest: private %s: %v", kind, err)
	}
	s := &Server{t: t, in: in}
	t.Cleanup(func() {
		_ = in.resume() // a paused server cannot end
		_ = in.kill()   // it may be down already
	})
	return s
}

// URL is where the server listens, the same over its whole life.
func (s *Server) URL() string { return s.in.url() }

// Stop ends the server in good order.
func (s *Server) Stop() { s.t.Helper(); s.do("stop", s.in.stop) }

// Kill ends the server at once, as kill -9 does.
func (s *Server) Kill() { s.t.Helper(); s.do("kill", s.in.kill) }

// Start starts the server again at the same address, PostgreSQL with the same data, and waits until it answers.
func (s *Server) Start() { s.t.Helper(); s.do("start", s.in.start) }

// Pause freezes the server: the kernel still accepts its connections, and nobody answers.
func (s *Server) Pause() { s.t.Helper(); s.do("pause", s.in.pause) }

// Resume ends a Pause.
func (s *Server) Resume() { s.t.Helper(); s.do("resume", s.in.resume) }

func (s *Server) do(what string, deed func() error) {
	s.t.Helper()
	if err := deed(); err != nil {
		s.t.Fatalf("dbtest: %s the private server: %v", what, err)
	}
}
