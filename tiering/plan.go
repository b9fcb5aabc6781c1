package tiering

import (
	"fmt"
	"time"

	"github.com/kvoffload/kvoffload/lookup"
)

// Plan is what a request does now.
type Plan struct {
	// Plan is the decision and its reason: load so many tokens, wait, or recompute.
	lookup.Plan
	// Until, with Wait, is how long from now it is worth asking again at the latest,
	// even if nothing has woken the request. Zero: nothing but a change helps.
	Until time.Duration
	// Claim, with Load, is the blocks to be loaded. Nothing evicts them before it is
	// released.
	Claim Claim
	// Err is why the question could not be answered: lookup.ErrQuery, ErrEnded,
	// ErrBusy, ErrReset, ErrClosed. The plan then says Recompute and ReasonRefused, so
	// a server may ignore Err and still do the right thing.
	Err error
}

// attempts is how often a plan is made anew when blocks that were remembered are gone.
const attempts = 3

// Plan asks what to do about q: load (then the blocks come claimed), wait (then the
// request is parked, and woken through Manager.Ready), or recompute. It never blocks,
// and is no access for eviction.
//
// The request keeps q's key slices until it plans something else or ends: append to
// them freely, but don't change what is in them.
//
// Planning again while a claim is held does not stack claims: if the new plan is a
// Load, what was held moves to its Claim and the old handle is void.
func (r *Request) Plan(q lookup.Query) Plan {
	if err := r.enter(); err != nil {
		return refused(err)
	}
	now := r.m.now()
	repeated := r.scan.asked && r.scan.plan.Action == lookup.Wait
	r.setAside()
	r.scan.query = q
	err := r.scan.query.Validate(&r.m.layout)
	r.scan.asked = err == nil
	if err != nil {
		return r.leave(refused(err), now, false)
	}
	r.begin(now, true)
	return r.leave(r.decide(), now, repeated)
}

// Replan asks the last Plan's question again. It costs what has changed since: if
// nothing has, and the plan's time is not up, it gives the same answer at once.
func (r *Request) Replan() Plan {
	if err := r.enter(); err != nil {
		return refused(err)
	}
	now := r.m.now()
	if !r.scan.asked {
		return r.leave(refused(errNotPlanned), now, false)
	}
	if p, ok := r.unchanged(now); ok {
		return p
	}
	repeated := r.scan.plan.Action == lookup.Wait
	fresh := r.scan.loading
	if fresh {
		r.setAside()
	}
	r.begin(now, fresh)
	return r.leave(r.decide(), now, repeated)
}

var errNotPlanned = fmt.Errorf("%w: Replan before Plan", lookup.ErrQuery)

func refused(err error) Plan {
	return Plan{Plan: lookup.Plan{Reason: lookup.ReasonRefused}, Err: err}
}

// unchanged returns the last plan if that was to wait and nothing has changed since.
func (r *Request) unchanged(now time.Duration) (Plan, bool) {
	m, s := r.m, &r.scan
	if s.plan.Action != lookup.Wait {
		return Plan{}, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.changes != s.changes || now >= r.dueAt() || r.heapIndex < 0 || r.ending {
		return Plan{}, false
	}
	r.busy = false
	p := s.plan
	p.Asked = 0
	if p.Until > 0 {
		p.Until = r.dueAt() - now
	}
	m.stats.Plans++
	return p, true
}

// dueAt is when the request's policies may change their minds by time alone.
func (r *Request) dueAt() time.Duration {
	if at, ok := r.waits.Until(); ok {
		return at
	}
	return never
}

// decide scans until the plan can be kept: it fails only if blocks remembered from
// an earlier scan have gone, and then all are asked for anew.
func (r *Request) decide() Plan {
	for range attempts {
		p, err := r.m.scanner.Plan(&r.scan.query, (*source)(r), (*source)(r))
		if err != nil {
			r.settle(lookup.Plan{})
			return refused(err)
		}
		if r.settle(p) {
			return Plan{Plan: r.explain(p)}
		}
		r.begin(r.scan.now, true)
	}
	return Plan{Plan: lookup.Plan{Reason: lookup.ReasonRefused}}
}

// explain replaces the scan's reason by a more precise one, where a policy gave it.
func (r *Request) explain(p lookup.Plan) lookup.Plan {
	s := &r.scan
	switch {
	case p.Action == lookup.Wait:
	case p.Cut.Tokens > 0 && s.cut != lookup.ReasonNotStored:
		p.Reason = s.cut
	case s.gaveUp != lookup.ReasonNotStored:
		p.Reason = s.gaveUp
	}
	return p
}

// settle keeps the claims that a plan needs and gives back the others. It reports
// false, having given back all, if a block that the plan needs has gone.
func (r *Request) settle(p lookup.Plan) bool {
	s, m := &r.scan, r.m
	kept := true
	for g := range s.memos {
		memo := &s.memos[g]
		s.lo[g], s.hi[g] = 0, 0
		if p.Action == lookup.Load {
			lo, hi := m.scanner.Blocks(g, s.query.Computed, p.Tokens)
			if p.TailBoundary > 0 {
				hi-- // the last one is the tail
			}
			hi = min(hi, memo.base+len(memo.marks))
			s.lo[g], s.hi[g] = lo-memo.base, max(lo, hi)-memo.base
		}
		m.mu.Lock()
		kept = kept && memo.claim(m.pool, s.lo[g], s.hi[g])
		m.mu.Unlock()
	}
	m.mu.Lock()
	for g := range s.memos {
		if kept {
			s.memos[g].release(m.pool, s.lo[g], s.hi[g])
		} else {
			s.memos[g].release(m.pool, 0, 0)
		}
		s.memos[g].tidy()
	}
	r.settleTails(p, kept)
	s.loading = kept && p.Action == lookup.Load
	if kept && p.Action != lookup.Wait {
		r.dropHolds()
	}
	m.mu.Unlock()
	return kept
}

// settleTails keeps the hits on the boundary that the plan takes.
func (r *Request) settleTails(p lookup.Plan, kept bool) {
	s := &r.scan
	keep := s.tails[:0]
	for _, t := range s.tails {
		if kept && p.Action == lookup.Load && p.TailBoundary > 0 && t.at.Index == r.m.scanner.TailIndex(p.TailBoundary) {
			keep = append(keep, t)
			continue
		}
		r.m.pool.Release(t.block)
	}
	s.tails = keep
}

// leave books the answer and ends the call.
func (r *Request) leave(p Plan, now time.Duration, repeated bool) Plan {
	m := r.m
	if p.Err == nil {
		r.commit(&p, now)
	}
	m.mu.Lock()
	m.stats.Plans++
	m.stats.Lookups += uint64(p.Asked)
	switch {
	case p.Action == lookup.Wait:
		r.beginWait(now, p.Reason)
		m.park(r, r.dueAt())
	case r.wait.waiting:
		r.endWait(now, p.Plan)
		fallthrough
	default:
		m.unpark(r)
	}
	if p.Action == lookup.Load {
		p.Claim = r.claimPlan()
	}
	r.scan.plan = p
	event := r.planEvent(&p, now, repeated)
	if r.leaveLocked(now) {
		p = refused(ErrEnded)
	}
	m.unlock()
	if m.events.Planned != nil {
		m.firePlanned(&event)
	}
	return p
}

// commit tells the policies what took effect.
func (r *Request) commit(p *Plan, now time.Duration) {
	switch {
	case p.Action == lookup.Wait:
		r.waits.Deferred()
		if at, ok := r.waits.Until(); ok {
			p.Until = max(0, at-now)
		}
	case p.Cut.Tokens > 0:
		r.waits.Commit(p.Cut)
	}
}

func (r *Request) planEvent(p *Plan, now time.Duration, repeated bool) PlanEvent {
	if r.m.events.Planned == nil {
		return PlanEvent{}
	}
	e := PlanEvent{Request: r.id, Plan: p.Plan, Repeated: repeated, Waited: r.waited(now)}
	if p.Err == nil {
		e.Answers, e.Tokens, e.Computed = r.scan.counts, r.scan.query.Tokens, r.scan.query.Computed
	}
	return e
}
