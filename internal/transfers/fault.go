package transfers

// Point is a moment in the life of a batch at which it is worth trying what a crash does: see [Options.Fault].
type Point string

const (
	// AfterLocks is when the accounts are locked, or foreseen, and nothing has been decided.
	AfterLocks Point = "after_locks"
	// BeforeCommit is when the orders have been judged and nothing of it has been sent to the database.
	BeforeCommit Point = "before_commit"
	// AfterCommit is when the database has confirmed the batch and nobody has been answered.
	AfterCommit Point = "after_commit_before_response"
)

// Points are all of them, in the order in which a batch passes them.
func Points() []Point { return []Point{AfterLocks, BeforeCommit, AfterCommit} }

// pass tells the service's fault switch, if it has one, where the batch is.
func (s *Service) pass(p Point) {
	if s.fault != nil {
		s.fault(p)
	}
}
