package tiering

import (
	"time"

	"github.com/kvoffload/kvoffload/lookup"
	"github.com/kvoffload/kvoffload/policy"
)

// RequestOptions describe a request.
type RequestOptions struct {
	// ID names the request in events, jobs and errors. It need not be unique: no
	// state is kept by it.
	ID string
}

// Request is one request of the server, from Begin to End, and carries all of its
// wait state. It belongs to one goroutine at a time; only End may be called from
// anywhere.
type Request struct {
	m          *Manager
	id         string
	generation uint64 // of the weights, when it began

	// Guarded by m.mu.

	busy   bool // a goroutine is inside Plan, Replan, Store or Claim
	ending bool // End was called meanwhile
	ended  bool
	// holds are blocks promoted for this request and not yet read, owned its
	// promotions in flight, queued those of them not yet handed over, by tier.
	holds  []BlockID
	owned  []*Job
	queued []*Job
	claims claims
	// What wakes it, see wake.go.
	waitsOn   []waitingOn
	due       time.Duration
	woken     bool
	isReady   bool
	heapIndex int // in m.parked, -1 if it is not there

	// The rest belongs to the goroutine that is inside.

	waits policy.Waits
	scan  scan
	wait  wait
	used  []used
	// usedLimit is the length at which used is rid of repetitions.
	usedLimit int
}

// wait is what a request's present wait is known by.
type wait struct {
	waiting bool
	since   time.Duration
	total   time.Duration // of the waits before
	reason  lookup.Reason
}

// Begin starts a request. End it, or its claims are held for ever. After Close the
// request is there, but every plan of it is refused with [ErrClosed].
func (m *Manager) Begin(o RequestOptions) *Request {
	r := &Request{m: m, id: o.ID, heapIndex: -1, queued: make([]*Job, len(m.tiers))}
	r.scan.init(len(m.layout.Groups))
	m.mu.Lock()
	r.generation = m.generation
	m.stats.Requests++
	m.mu.Unlock()
	return r
}

// ID returns the request's ID.
func (r *Request) ID() string { return r.id }

// End ends the request, at any moment: finished, aborted or preempted. What it has
// claimed is released, what is promoted for it is held no longer, and its wait
// state is gone. Stores, promotions and cascades in flight go on. The blocks that it
// used become the newest, the end of a prefix before its start, so that the start is
// evicted last.
//
// End may be called from any goroutine; if another is inside a method of the request,
// that one ends it on its way out. A second End does nothing.
func (r *Request) End() {
	now := r.m.now()
	r.m.mu.Lock()
	switch {
	case r.ended:
	case r.busy:
		r.ending = true
	default:
		r.endLocked(now)
	}
	r.m.check()
	r.m.unlock()
}

func (r *Request) endLocked(now time.Duration) {
	m := r.m
	r.ended = true
	m.stats.Requests--
	m.unpark(r)
	if r.wait.waiting {
		r.endWait(now, lookup.Plan{Action: lookup.Recompute, Reason: lookup.ReasonRefused})
	}
	r.touchUsed()
	r.releaseAll()
	r.dropHolds()
	for _, j := range r.owned {
		j.owner = nil
	}
	// Whoever keeps the handle keeps nothing else.
	*r = Request{m: m, id: r.id, generation: r.generation, ended: true, heapIndex: -1}
}

// enter begins a call that uses the request's own state.
func (r *Request) enter() error {
	m := r.m
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.closed:
		return ErrClosed
	case r.ended || r.ending:
		return ErrEnded
	case r.busy:
		return ErrBusy
	case r.generation != m.generation:
		return ErrReset
	}
	r.busy = true
	return nil
}

// leaveLocked ends it; the caller holds the lock and releases it with m.unlock.
// It reports whether End was called meanwhile.
func (r *Request) leaveLocked(now time.Duration) (ended bool) {
	r.busy = false
	if r.ending {
		r.endLocked(now)
	}
	r.m.check()
	return r.ended
}

// dropHolds lets go of what was promoted for this request.
func (r *Request) dropHolds() {
	for _, s := range r.holds {
		r.m.pool.Release(s)
	}
	r.m.promoting -= len(r.holds)
	r.holds = r.holds[:0]
}

// disown forgets a promotion that has ended.
func (r *Request) disown(j *Job) {
	for i, other := range r.owned {
		if other == j {
			r.owned = append(r.owned[:i], r.owned[i+1:]...)
			return
		}
	}
}

// Lookup answers for one block from the primary alone: Hit, Pending or Miss. It asks
// no tier, starts nothing and changes nothing.
func (r *Request) Lookup(key lookup.Key) lookup.Result {
	m := r.m
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.ended || r.generation != m.generation {
		return lookup.Miss
	}
	return m.state(&key)
}

// beginWait and endWait keep the books of the request's waits. The lock is held.
func (r *Request) beginWait(now time.Duration, reason lookup.Reason) {
	if !r.wait.waiting {
		r.wait.waiting, r.wait.since = true, now
	}
	r.wait.reason = reason
}

func (r *Request) endWait(now time.Duration, p lookup.Plan) {
	waited := now - r.wait.since
	r.wait.waiting = false
	r.wait.total += waited
	if r.m.events.WaitEnded != nil {
		r.m.queue = append(r.m.queue, WaitEvent{
			Request: r.id, For: r.wait.reason, Waited: waited, Action: p.Action, Reason: p.Reason,
		})
	}
}

// waited is how long the request has waited until now, in all.
func (r *Request) waited(now time.Duration) time.Duration {
	if r.wait.waiting {
		return r.wait.total + now - r.wait.since
	}
	return r.wait.total
}
