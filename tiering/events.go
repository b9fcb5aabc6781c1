package tiering

import (
	"time"

	"github.com/kvoffload/kvoffload/lookup"
)

// Events are hooks into what the Manager does. Any may be nil. Each is called on
// the goroutine whose call caused it, after all locks are released, so a hook may
// call the Manager; it should return quickly, since that call waits for it. A
// panic in a hook is contained and counted. Hooks may be called concurrently.
type Events struct {
	// Planned: a Plan or Replan was answered.
	Planned func(PlanEvent)
	// WaitEnded: a request that had to wait has stopped waiting, once per wait.
	WaitEnded func(WaitEvent)
	// GaveUp: a request gave up on a block that was not resolved in time.
	GaveUp func(GaveUpEvent)
	// JobEnded: every block of a store, promotion or cascade has been reported.
	JobEnded func(JobEvent)
	// Declined: a tier did not take a job.
	Declined func(JobEvent)
	// Evicted: a block left the primary to make room.
	Evicted func(EvictedEvent)
	// Refused: blocks found no room in the primary.
	Refused func(RefusedEvent)
	// Late: a completion came that changed nothing.
	Late func(LateEvent)
	// Panicked: a tier, policy or hook panicked, or answered nonsense.
	Panicked func(PanicEvent)
}

// PlanEvent describes one answered Plan or Replan.
type PlanEvent struct {
	// Request is the request's ID.
	Request string
	// Plan is the answer.
	Plan lookup.Plan
	// Repeated says that the request had been deferred and asked again: such a
	// plan is no new lookup.
	Repeated bool
	// Answers counts the blocks asked for by lookup.Result.
	Answers [lookup.Results]int
	// Tokens and Computed are those of the query.
	Tokens, Computed int
	// Waited is how long the request has waited until now, in all.
	Waited time.Duration
}

// WaitEvent describes a wait that is over.
type WaitEvent struct {
	Request string
	// For is what was waited for last: lookup.ReasonPending or ReasonRetry.
	For lookup.Reason
	// Waited is the time from the deferral to the end of the wait.
	Waited time.Duration
	// Action is what the request does now; Reason why. A request that ended
	// while it waited has Recompute and ReasonRefused.
	Action lookup.Action
	Reason lookup.Reason
}

// GaveUpEvent describes a block on which a request gave up.
type GaveUpEvent struct {
	Request string
	Key     lookup.Key
	// Reason is why: a deadline, or ReasonStalled, or a policy's own.
	Reason lookup.Reason
	// Was is what the block was: Pending or Retry.
	Was lookup.Result
	// Waited is how long the request had known the key to be unresolved.
	Waited time.Duration
	// Job is the write in flight, zero if there is none; Age is how old it is;
	// Tier is who writes: PrimaryName for a store from the device, else the
	// secondary that promotes or could not say.
	Job  uint64
	Age  time.Duration
	Tier string
}

// JobEvent describes a job that has ended or was declined.
type JobEvent struct {
	Job     uint64
	Kind    JobKind
	Request string
	// Tier is the secondary, or PrimaryName for a store.
	Tier string
	// Blocks is how many blocks the job had, Failed how many of them failed.
	Blocks, Failed int
	// Took is the time from the job's start to its end.
	Took time.Duration
	// Err is the first error, nil if none.
	Err error
}

// EvictedEvent describes a block that was evicted.
type EvictedEvent struct {
	Key   lookup.Key
	Block BlockID
}

// RefusedEvent describes blocks that found no room.
type RefusedEvent struct {
	Request string
	Kind    JobKind
	Blocks  int
}

// LateEvent describes a completion that changed nothing.
type LateEvent struct {
	Job  uint64
	Kind JobKind
	Tier string
}

// PanicEvent describes a contained fault of user code.
type PanicEvent struct {
	// Where names the call: "policy", "clock", "hook", or "tier NAME METHOD".
	Where string
	// Value is what was recovered, or what was wrong with the answer.
	Value any
}
