// Package tiering is the Manager: it keeps track of which KV blocks are in the
// primary tier, which are on their way, and which a secondary tier may have, and
// tells each request whether to load, to wait or to recompute.
//
// Four nouns carry it. A [Manager] (one per engine) holds the tiers and their
// state. A [Request] (one per server request, from [Manager.Begin] to
// [Request.End]) carries all of that request's wait state; when it ends, its
// state is gone. A [Plan] (one per lookup) says what to do now, and hands out
// what is to be loaded already claimed. A policy.Policy decides between waiting
// and recomputing.
//
// What it promises: between a Plan that says Load and the release of its Claim
// nothing evicts the blocks; every wait ends by its bound, whatever tiers do;
// a block is readable only after its write has succeeded; and no tier, policy,
// hook or clock of the user's can break the Manager: a panic or a senseless
// answer is contained, counted in [Stats], and costs a recompute.
//
// Concurrency: a Manager and its Jobs may be used from any number of goroutines.
// A Request belongs to one goroutine at a time, except that End may be called
// from anywhere at any moment; a second concurrent use gets [ErrBusy]. The
// Manager starts no goroutine. It calls tiers, policies and hooks without holding
// a lock, so they may call back.
//
// Time is read from Options.Clock only, once per call, and made monotonic: a
// clock that jumps back can't lengthen a wait that has been seen to pass.
package tiering
