package policy

import "github.com/kvoffload/kvoffload/lookup"

// Always waits for whatever is unresolved, without a bound: it is "no limit"
// chosen by name. One write that never finishes then holds every request whose
// prefix reaches it until the client gives up. It is meant for tests, for offline
// work, and for servers that bound waits themselves.
type Always struct{}

// Decide answers Wait.
func (Always) Decide(Snapshot) Decision { return Decision{Verdict: Wait} }

// Never waits for nothing: what is readable now is loaded, the rest computed. A
// block that was once seen unresolved stays given up until the request ends,
// unless it is a hit when it is asked for again.
type Never struct{}

// Decide answers Recompute.
func (Never) Decide(Snapshot) Decision { return Decision{Reason: lookup.ReasonPolicy} }
