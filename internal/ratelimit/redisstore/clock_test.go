package redisstore

import "time"

// SetClock puts a store on a test's clock instead of the server's.
func SetClock(s *Store, now func() time.Time) { SetClocks(s, now, now) }

// SetClocks gives the server a clock and the process another.
func SetClocks(s *Store, server, here func() time.Time) { s.now, s.here = server, here }
