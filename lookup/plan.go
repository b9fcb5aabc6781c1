package lookup

import "strconv"

// Action is what a request does next.
type Action uint8

const (
	// Recompute: nothing is there, or nothing worth loading. It is the zero
	// value, so that a forgotten decision costs a recompute.
	Recompute Action = iota
	// Load: Plan.Tokens tokens are readable now; load them, compute the rest.
	Load
	// Wait: ask again later.
	Wait

	// Actions is how many actions there are.
	Actions = iota
)

// String returns "recompute", "load", "wait", or "action(n)" for any other value.
func (a Action) String() string {
	switch a {
	case Recompute:
		return "recompute"
	case Load:
		return "load"
	case Wait:
		return "wait"
	}
	return "action(" + strconv.Itoa(int(a)) + ")"
}

// Reason says why a plan is what it is. The values are stable; new ones are
// added at the end.
type Reason uint8

const (
	// ReasonNotStored: nothing beyond the tokens already computed is there.
	ReasonNotStored Reason = iota
	// ReasonReady: everything that was found is readable.
	ReasonReady
	// ReasonPending: a write in flight is waited for.
	ReasonPending
	// ReasonRetry: a tier that could not say yet is waited for.
	ReasonRetry
	// ReasonBudget: what is pending is cheaper to recompute than to wait for.
	ReasonBudget
	// ReasonKeyDeadline: this request has waited for a key as long as it may.
	ReasonKeyDeadline
	// ReasonRetryDeadline: this request has waited for a tier to say whether it
	// has a key as long as it may.
	ReasonRetryDeadline
	// ReasonRequestDeadline: this request has waited in all as long as it may.
	ReasonRequestDeadline
	// ReasonStalled: the write in flight is so old that it is taken for lost.
	ReasonStalled
	// ReasonPolicy: a policy said so and gave no reason of its own.
	ReasonPolicy
	// ReasonRefused: the question could not be answered (the request has ended,
	// the query is invalid, a policy or tier misbehaved).
	ReasonRefused

	// Reasons is how many reasons there are.
	Reasons = iota
)

var reasonNames = [Reasons]string{
	"not_stored", "ready", "pending", "retry", "budget", "key_deadline",
	"retry_deadline", "request_deadline", "stalled", "policy", "refused",
}

// Valid reports whether r is one of the reasons above.
func (r Reason) Valid() bool { return r < Reasons }

// String returns the reason in lower case with underscores, as used in metrics,
// or "reason(n)" for a value that is none.
func (r Reason) String() string {
	if r.Valid() {
		return reasonNames[r]
	}
	return "reason(" + strconv.Itoa(int(r)) + ")"
}

// Run is the part of a scan that is not ready: everything from the first pending
// block to the end of what was scanned. It is what a [Gate] decides about.
type Run struct {
	// Group is the index of the group scanned.
	Group int
	// First is the index of the first pending block in the group's keys. For a
	// tail it is the number of complete blocks.
	First int
	// Blocks is how many blocks the run has, the ready ones among them included.
	// Zero for a tail, which is shorter than a block.
	Blocks int
	// TokensPerBlock is the group's offload unit.
	TokensPerBlock int
	// Tokens is what waiting gains at most: Blocks*TokensPerBlock, or for a tail
	// the tokens from the complete boundary to the highest boundary that may
	// still come.
	Tokens int
	// Tail says that the run is a partial tail.
	Tail bool
}

// Gate decides whether a pending run is waited for or cut: used only up to its
// first pending block, the rest recomputed. A nil Gate always waits.
//
// A scan may ask more than once: groups that agree on a shorter length have to be
// asked again.
type Gate interface {
	// Cut reports whether to give the run up rather than to wait for it.
	Cut(Run) bool
}

// GateFunc makes a Gate of a function. A nil GateFunc always waits.
type GateFunc func(Run) bool

// Cut calls f.
func (f GateFunc) Cut(r Run) bool { return f != nil && f(r) }

// Plan is the answer to a Query.
type Plan struct {
	// Action is what to do. Only Load has Tokens above zero.
	Action Action
	// Reason is why.
	Reason Reason
	// Tokens is how many tokens beyond Query.Computed are to be loaded. It need
	// not be a multiple of a group's block: a group whose last block is partly
	// used needs that whole block.
	Tokens int
	// TailBoundary is the token position at which the partial tail that is part
	// of Tokens ends, or zero if there is none.
	TailBoundary int
	// Cut is the pending run that was given up, if Gate cut one and that is why
	// Tokens is no more than it is; else zero. It is zero where the plan is to
	// wait, and where a miss ends the reuse before the run begins.
	Cut Run
	// Asked is how many times the Source was asked for a block.
	Asked int
}
