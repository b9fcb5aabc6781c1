package lookup

import "strconv"

// Result is what is known of one block's KV at the moment of asking.
type Result uint8

const (
	// Miss: no tier has the block, or it can't be brought in now, or the asking
	// request has given up on it. It is the zero value, so that a forgotten
	// answer costs a recompute and never a wrong read.
	Miss Result = iota
	// Hit: the block is in the primary tier and its bytes are readable now.
	Hit
	// Pending: the block has a place in the primary tier and its write is in
	// flight. It becomes Hit if the write succeeds and Miss if it fails.
	Pending
	// Retry: no tier has said yes, and at least one could not say yet.
	Retry

	// Results is how many answers there are; any value from it on is treated as
	// Miss.
	Results = iota
)

// Valid reports whether r is one of the four answers.
func (r Result) Valid() bool { return r < Results }

// Unresolved reports whether r may still turn into a Hit without a new store:
// Pending or Retry.
func (r Result) Unresolved() bool { return r == Pending || r == Retry }

// String returns "miss", "hit", "pending" or "retry", and "result(n)" for a
// value that is none of them.
func (r Result) String() string {
	switch r {
	case Miss:
		return "miss"
	case Hit:
		return "hit"
	case Pending:
		return "pending"
	case Retry:
		return "retry"
	}
	return "result(" + strconv.Itoa(int(r)) + ")"
}
