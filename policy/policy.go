package policy

import (
	"strconv"
	"time"

	"github.com/kvoffload/kvoffload/lookup"
)

// Scope is what a policy is asked about.
type Scope uint8

const (
	// Block: one unresolved block, as the scan meets it. Recompute means that the
	// request gives the block up until it ends.
	Block Scope = iota
	// Run: the pending run at the end of a scan, or a partial tail. Recompute
	// means that the run is cut: what is before its first pending block is used,
	// the rest computed.
	Run
)

// String returns "block", "run", or "scope(n)" for any other value.
func (s Scope) String() string {
	switch s {
	case Block:
		return "block"
	case Run:
		return "run"
	}
	return "scope(" + strconv.Itoa(int(s)) + ")"
}

// Snapshot is all that a policy gets to know. Policies of the same snapshot give
// the same answer.
type Snapshot struct {
	// Now is the time since the asking Manager (or server) was made, on its own
	// clock. It never goes back.
	Now time.Duration
	// Scope says what is asked about, and so which fields below are set.
	Scope Scope
	// Tokens is the length of the request in tokens.
	Tokens int
	// RequestAge is the time since the request was first deferred; zero if it has
	// not been yet.
	RequestAge time.Duration

	// Result, at Block scope, is Pending or Retry.
	Result lookup.Result
	// KeyAge, at Block scope, is the time since this request first saw the block
	// unresolved, be it Pending or Retry.
	KeyAge time.Duration
	// WriteAge, at Block scope, is the time since the write in flight began; zero
	// if that isn't known.
	WriteAge time.Duration

	// Run, at Run scope, is what waiting could gain.
	Run lookup.Run
	// Charged, at Run scope, is how many tokens of runs cut earlier this request
	// has been charged for; see Accountant.
	Charged int
}

// Verdict is what a policy says to do.
type Verdict uint8

const (
	// Recompute: don't wait. It is the zero value, so that a forgotten answer
	// costs a recompute and never an endless wait.
	Recompute Verdict = iota
	// Wait: it may still be worth waiting.
	Wait
)

// String returns "recompute", "wait", or "verdict(n)" for any other value.
func (v Verdict) String() string {
	switch v {
	case Recompute:
		return "recompute"
	case Wait:
		return "wait"
	}
	return "verdict(" + strconv.Itoa(int(v)) + ")"
}

// Decision is a policy's answer.
type Decision struct {
	// Verdict is what to do.
	Verdict Verdict
	// Reason is why to recompute. It means nothing with Wait.
	Reason lookup.Reason
	// After, with Wait, is when the verdict may change by time alone, counted from
	// Snapshot.Now: asking sooner is useless unless something else has changed.
	// Zero: not by time alone.
	After time.Duration
}

// Policy decides between waiting and recomputing.
type Policy interface {
	// Decide answers for a snapshot. It must be a pure function of it (and of
	// what Accountant.Commit has been told), must not block, and may be called
	// many times for one decision that takes effect. A policy with no opinion at
	// one scope answers Wait with After zero there.
	Decide(Snapshot) Decision
}

// Func makes a Policy of a function. A nil Func says Recompute, and [Validate]
// refuses it.
type Func func(Snapshot) Decision

// Decide calls f.
func (f Func) Decide(s Snapshot) Decision {
	if f == nil {
		return Decision{Reason: lookup.ReasonRefused}
	}
	return f(s)
}

// Validate reports a nil Func.
func (f Func) Validate() error {
	if f == nil {
		return fault("Func is nil")
	}
	return nil
}

// Accountant is what a Policy also implements if it must know which cuts took
// effect, as one with a budget over time does.
type Accountant interface {
	// Commit is called once for each plan in which a run was cut that is longer
	// than what the same request has been charged for before, which is in Charged:
	// Run.Tokens less Charged come on top. The cut may have been another policy's
	// doing.
	Commit(Snapshot)
}

// Check makes sense of a policy's answer: an unknown verdict is Recompute; After
// is never negative and is zero with Recompute; Reason is one that a recompute can
// have (ReasonPolicy where the policy's own is not), and zero with Wait. [Any] and
// [Waits] apply it to every answer.
func Check(d Decision) Decision {
	if d.Verdict == Wait {
		return Decision{Verdict: Wait, After: max(d.After, 0)}
	}
	switch {
	case !d.Reason.Valid(),
		d.Reason == lookup.ReasonNotStored, d.Reason == lookup.ReasonReady,
		d.Reason == lookup.ReasonPending, d.Reason == lookup.ReasonRetry:
		d.Reason = lookup.ReasonPolicy
	}
	return Decision{Verdict: Recompute, Reason: d.Reason}
}
