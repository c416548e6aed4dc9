package pgstore

import "time"

// SetClock puts a store on a test's clock instead of the database's.
func SetClock(s *Store, now func() time.Time) { SetClocks(s, now, now) }

// SetClocks gives the database a clock and the process another.
func SetClocks(s *Store, database, here func() time.Time) { s.now, s.here = database, here }
