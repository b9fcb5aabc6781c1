package policy

import (
	"time"

	"github.com/kvoffload/kvoffload/lookup"
)

// DefaultStalledAfter is the default of [Stalled]. Not smaller: the slowest
// transfers with a bound of their own take 30 s and would be taken for lost. Not
// larger: until then every request that arrives pays its own whole bound.
const DefaultStalledAfter = 30 * time.Second

// Stalled gives up at first sight a block whose write is so old that it is taken
// for lost, so that a request which arrives later does not wait for it once more.
// A request that was waiting already is left to its [Deadline]. It bounds no wait:
// combine it through [Any].
type Stalled struct {
	// After is the age of the write, as in Snapshot.WriteAge. Default
	// DefaultStalledAfter; NoLimit: never.
	After time.Duration
}

// Decide gives up a block that the request sees for the first time, if its write
// is old enough.
func (p Stalled) Decide(s Snapshot) Decision {
	after := p.After
	if after == 0 {
		after = DefaultStalledAfter
	}
	if s.Scope != Block || s.Result != lookup.Pending || s.KeyAge > 0 || s.WriteAge < after || after == NoLimit {
		return Decision{Verdict: Wait}
	}
	return Decision{Reason: lookup.ReasonStalled}
}

// Validate reports a negative After.
func (p Stalled) Validate() error {
	if p.After < 0 {
		return faults{fault("Stalled.After is %v, want 0 (the default), more, or NoLimit", p.After)}
	}
	return nil
}
