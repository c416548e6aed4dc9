package pgstore

import "time"

// SetClock puts a store on a test's clock instead of the database's.
func SetClock(s *Store, now func() time.Time) { s.now = now }
