package policy

import (
	"time"

	"github.com/kvoffload/kvoffload/lookup"
)

// Waits is the wait state of one request, and applies a policy to it: since when
// the request has been waiting for which block, which blocks it has given up, when
// it was first deferred, and what it has been charged for.
//
// For each plan, call BeginScan; then Block for every block asked for (or scan with
// Source, which does that), and Run for the pending run (or scan with Gate). If the
// plan is to wait, call Deferred, and ask again at Until at the latest; if it cut a
// run, call Commit. When the request ends, call Reset.
//
// A block's clock starts when this request first sees it Pending or Retry, and only
// Hit or Reset sets it back: not a Miss in between, not a failed promotion and the
// next attempt. A block that was given up stays Miss until Reset, except while it is
// Hit. A time smaller than one already seen counts as the latest seen.
//
// The zero value is ready. Memory grows with the distinct blocks seen unresolved.
// Asking again allocates nothing. Not safe for concurrent use.
type Waits struct {
	policy Policy
	tokens int
	now    time.Duration // the latest seen

	until    time.Duration // meaningful with hasUntil
	hasUntil bool

	deferred   bool
	deferredAt time.Duration
	charged    int

	anchors anchors
	scan    scanSource
}

// Outcome is what the request is to see of one block.
type Outcome struct {
	// Result is the answer.
	Result lookup.Result
	// GaveUp says that the request has given the block up in this very call, for
	// Reason: what an operator wants counted and logged.
	GaveUp bool
	// Reason is why Result is what it is: ReasonReady, ReasonPending, ReasonRetry,
	// or with Miss why the block was given up, and ReasonNotStored if it was not.
	Reason lookup.Reason
	// Age is how long the request has been waiting for the block, if it is
	// unresolved or was until this very call.
	Age time.Duration
}

// BeginScan starts a plan: what follows, up to the next BeginScan, happens at now
// (on the caller's clock, since some fixed moment), for a request of so many
// tokens. A nil policy is the default [Deadline].
func (w *Waits) BeginScan(p Policy, now time.Duration, tokens int) {
	w.policy, w.tokens = p, tokens
	w.now = max(w.now, now)
	w.until, w.hasUntil = 0, false
}

// Block takes what is known of a block and says what the request is to see of it.
// An unresolved block is asked of the policy, and given up if that says recompute.
// writeAge is how long its write has been in flight; zero if that isn't known. The
// key is not kept or changed.
func (w *Waits) Block(key *lookup.Key, r lookup.Result, writeAge time.Duration) Outcome {
	switch r {
	case lookup.Hit:
		w.anchors.hit(key)
		return Outcome{Result: lookup.Hit, Reason: lookup.ReasonReady}
	case lookup.Pending, lookup.Retry:
		return w.unresolved(key, r, writeAge)
	}
	reason, _ := w.GivenUp(key)
	return Outcome{Result: lookup.Miss, Reason: reason}
}

func (w *Waits) unresolved(key *lookup.Key, r lookup.Result, writeAge time.Duration) Outcome {
	e := w.anchors.find(key, w.now)
	if e.givenUp {
		return Outcome{Result: lookup.Miss, Reason: e.reason}
	}
	age := w.now - e.since
	d := w.note(w.asked().Decide(Snapshot{
		Now: w.now, Scope: Block, Tokens: w.tokens, RequestAge: w.RequestAge(w.now),
		Result: r, KeyAge: age, WriteAge: max(writeAge, 0),
	}))
	if d.Verdict == Recompute {
		w.anchors.giveUp(key, d.Reason)
		return Outcome{Result: lookup.Miss, GaveUp: true, Reason: d.Reason, Age: age}
	}
	reason := lookup.ReasonPending
	if r == lookup.Retry {
		reason = lookup.ReasonRetry
	}
	return Outcome{Result: r, Reason: reason, Age: age}
}

// Hits is Block for a run of keys that are all Hit. It costs next to nothing while
// nothing is waited for.
func (w *Waits) Hits(keys []lookup.Key) {
	for i := range keys {
		if w.anchors.waiting == 0 {
			return
		}
		w.anchors.hit(&keys[i])
	}
}

// GivenUp reports whether the request has given the block up, and why. Nothing
// more is to be started to bring it in for this request.
func (w *Waits) GivenUp(key *lookup.Key) (lookup.Reason, bool) {
	e := w.anchors.byKey[*key]
	return e.reason, e.givenUp
}

// Run asks the policy about a pending run: Recompute means cut it.
func (w *Waits) Run(r lookup.Run) Decision {
	return w.note(w.asked().Decide(w.runSnapshot(r)))
}

// Commit says that the plan in which r was cut has taken effect, and charges the
// policy for it if it is an [Accountant]. A plan that cut nothing has a zero Run,
// which is charged for nothing. What the request was charged for before is not
// charged again.
func (w *Waits) Commit(r lookup.Run) {
	if r.Tokens <= w.charged {
		return
	}
	if a, ok := w.policy.(Accountant); ok {
		a.Commit(w.runSnapshot(r))
	}
	w.charged = r.Tokens
}

func (w *Waits) runSnapshot(r lookup.Run) Snapshot {
	return Snapshot{
		Now: w.now, Scope: Run, Tokens: w.tokens, RequestAge: w.RequestAge(w.now),
		Run: r, Charged: w.charged,
	}
}

// asked is the policy, also before the first BeginScan.
func (w *Waits) asked() Policy {
	if w.policy == nil {
		return Deadline{}
	}
	return w.policy
}

// note makes sense of a decision and notes when it is worth asking again.
func (w *Waits) note(d Decision) Decision {
	d = Check(d)
	if d.After > 0 {
		due := addDurations(w.now, d.After)
		if !w.hasUntil || due < w.until {
			w.until, w.hasUntil = due, true
		}
	}
	return d
}

// Deferred says that the plan is to wait. The first call starts the request's
// clock, which nothing but Reset sets back.
func (w *Waits) Deferred() {
	if !w.deferred {
		w.deferred, w.deferredAt = true, w.now
	}
}

// RequestAge returns the time from the request's first deferral to now, zero if
// there has been none.
func (w *Waits) RequestAge(now time.Duration) time.Duration {
	if !w.deferred {
		return 0
	}
	return max(w.now, now) - w.deferredAt
}

// Until returns the time, on the caller's clock, at which the first of the
// decisions since BeginScan may change by time alone, and false if none will. At
// that time the request is worth asking again even if nothing else has changed. It
// may be early where a decision turned out not to matter, never late.
func (w *Waits) Until() (time.Duration, bool) { return w.until, w.hasUntil }

// Reset forgets everything, for the end of the request. The memory is kept for the
// next, unless it is a lot.
func (w *Waits) Reset() {
	w.anchors.reset()
	*w = Waits{anchors: w.anchors}
}
