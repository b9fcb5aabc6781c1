// Package policy decides between waiting for KV that is on its way and computing
// it anew.
//
// A [Policy] is one method, a pure function of a [Snapshot]. It is asked at two
// scopes: about a single unresolved block as a scan meets it ([Block]), and about
// the pending run at the end of a scan ([Run]). [Deadline] bounds waits in time,
// [RecomputeBudget] cuts runs that are cheaper to compute than to wait for,
// [Stalled] knows a lost write when it sees one, [Always] and [Never] are the two
// ends, and [Any] combines policies: the first that says recompute is obeyed.
//
// [Waits] holds one request's wait state (since when it has been waiting for which
// key, what it has given up) and applies a policy to it. Package tiering uses it,
// and so can a server with a block manager of its own, with package lookup alone.
//
// # Promises
//
// Nothing here reads a clock: times are durations handed in, so one clock drives
// every policy and two can't disagree. A clock that goes back extends no bound.
//
// The zero [Decision] is the safe one, and so is every way out of a senseless
// answer: it costs a recompute, never a wrong read. Defaults bound every wait;
// waiting without a bound has a name ([Always], [NoLimit]) and must be chosen.
//
// The policies of this package don't panic and don't allocate when they decide,
// whatever the snapshot. One that a user supplies may panic: package tiering
// contains that, this package lets it through.
//
// # Concurrency
//
// A policy is asked by many requests at once and must be safe for that; those of
// this package are. A Waits belongs to one request and is not safe for concurrent
// use.
package policy
