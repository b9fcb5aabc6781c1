package tiering

import (
	"time"

	"github.com/kvoffload/kvoffload/lookup"
	"github.com/kvoffload/kvoffload/policy"
	"github.com/kvoffload/kvoffload/tiering/internal/pool"
)

// chunk is how many keys are looked up under one holding of the lock: long enough
// that taking it costs nothing, short enough (some ten microseconds) that nobody
// waits long for it.
const chunk = 512

// scan is the state of a request's planning: the query, what is remembered of it,
// and what the scan that is going on has seen. It is the lookup.PlacedSource of the
// request's scans, and answers from the primary and the secondaries, with the
// request's waits applied.
//
// It claims every hit that it sees. A block once seen as a hit thus is one until the
// plan is made, which gives back what it does not use.
type scan struct {
	query  lookup.Query
	asked  bool // there is a query
	memos  []memo
	tails  []tailHit
	now    time.Duration
	counts [lookup.Results]int
	// lookedUp counts the blocks looked up in the primary, not remembered.
	lookedUp int
	// gaveUp is why a block was given up in this scan, the first such reason.
	gaveUp lookup.Reason
	cut    lookup.Reason // why a run was cut
	// changes and losses are the Manager's when the scan began.
	changes, losses uint64
	// plan is the last answer; loading says that its blocks are in memos and tails.
	plan    Plan
	loading bool
	lo, hi  []int // by group: the blocks to load, relative to the memo's base
}

// tailHit is a hit on the end of a partial tail.
type tailHit struct {
	at    lookup.At
	block BlockID
	gen   uint32
}

func (s *scan) init(n int) {
	s.memos = make([]memo, n)
	bounds := make([]int, 2*n)
	s.lo, s.hi = bounds[:n], bounds[n:]
}

// begin prepares for a scan; fresh forgets what is remembered.
func (r *Request) begin(now time.Duration, fresh bool) {
	m, s := r.m, &r.scan
	s.now, s.counts, s.lookedUp = now, [lookup.Results]int{}, 0
	s.gaveUp, s.cut = lookup.ReasonNotStored, lookup.ReasonNotStored
	r.waits.BeginScan(&m.policy, now, s.query.Tokens)
	m.mu.Lock()
	m.unpark(r)
	s.changes = m.changes
	losses := m.pool.Losses()
	if !fresh && losses != s.losses {
		for g := range s.memos {
			fresh = fresh || !s.memos[g].valid(m.pool)
		}
	}
	s.losses = losses
	m.mu.Unlock()
	if !fresh {
		return
	}
	for g := range s.memos {
		base := min(s.query.Computed/m.layout.Groups[g].TokensPerBlock, len(s.query.Keys[g]))
		s.memos[g].reset(base, len(s.query.Keys[g])-base)
	}
}

// source makes a lookup.PlacedSource and a lookup.Gate of a request.
type source Request

var _ lookup.PlacedSource = (*source)(nil)

// Lookup is not used: scans prefer LookupAt.
func (s *source) Lookup(lookup.Key) lookup.Result { return lookup.Miss }

// LeadingHits claims hits in chunks; what is remembered as a hit is not even asked
// for.
func (s *source) LeadingHits(at lookup.At, keys []lookup.Key) int {
	r := (*Request)(s)
	if at.Tail {
		return 0
	}
	memo := &r.scan.memos[at.Group]
	rel := at.Index - memo.base
	if rel < 0 || rel+len(keys) > len(memo.marks) {
		return 0
	}
	n := memo.knownHits(rel, len(keys))
	if n == 0 && rel < memo.scanned {
		return 0
	}
	for n < len(keys) && rel+n >= memo.scanned {
		end := min(n+chunk, len(keys))
		r.m.mu.Lock()
		hits := r.m.pool.ClaimLeading(keys[n:end], memo.ids[rel+n:rel+end], memo.marks[rel+n:rel+end])
		r.m.mu.Unlock()
		if hits > 0 {
			memo.claimed(rel+n, rel+n+hits)
			r.waits.Hits(keys[n : n+hits])
		}
		n += hits
		r.scan.lookedUp += hits
		if n < end {
			break
		}
	}
	r.scan.counts[lookup.Hit] += n
	return n
}

// LookupAt answers for one block.
func (s *source) LookupAt(at lookup.At, key *lookup.Key) lookup.Result {
	r := (*Request)(s)
	answer := r.lookup(at, key)
	r.scan.counts[answer]++
	if answer != lookup.Hit && !at.Tail {
		memo := &r.scan.memos[at.Group]
		memo.miss(at.Index - memo.base)
	}
	return answer
}

func (r *Request) lookup(at lookup.At, key *lookup.Key) lookup.Result {
	if r.knownHit(at) {
		return lookup.Hit
	}
	r.scan.lookedUp++
	r.m.mu.Lock()
	block, state := r.m.pool.Find(key)
	switch {
	case state == pool.Ready && r.claimHit(at, block):
		r.m.mu.Unlock()
		r.waits.Block(key, lookup.Hit, 0)
		return lookup.Hit
	case state == pool.Pending:
		j := r.m.writer(block)
		r.waitFor(j, nil)
		age := r.scan.now - j.started
		r.m.mu.Unlock()
		return r.filter(key, lookup.Pending, j, age, j.Tier())
	}
	r.m.mu.Unlock()
	return r.askTiers(at, key)
}

// knownHit reports whether the block is a hit that this request remembers.
func (r *Request) knownHit(at lookup.At) bool {
	if at.Tail {
		for i := range r.scan.tails {
			if r.scan.tails[i].at == at {
				return true
			}
		}
		return false
	}
	memo := &r.scan.memos[at.Group]
	rel := at.Index - memo.base
	return rel >= 0 && rel < len(memo.marks) && memo.marks[rel] != 0
}

// claimHit claims a readable block for the scan. The lock is held.
func (r *Request) claimHit(at lookup.At, block BlockID) bool {
	memo := &r.scan.memos[at.Group]
	rel := at.Index - memo.base
	if !at.Tail && (rel < 0 || rel >= len(memo.marks)) {
		return false
	}
	if !r.m.pool.Claim(block) {
		return false
	}
	gen := r.m.pool.Gen(block)
	if at.Tail {
		r.scan.tails = append(r.scan.tails, tailHit{at, block, gen})
	} else {
		memo.hit(rel, block, pool.Mark(gen, true))
	}
	return true
}

// askTiers asks the secondaries, in order, for a block that the primary does not
// have. The first that has it starts a promotion.
func (r *Request) askTiers(at lookup.At, key *lookup.Key) lookup.Result {
	if len(r.m.tiers) == 0 {
		return lookup.Miss
	}
	if reason, gone := r.waits.GivenUp(key); gone {
		r.noteGivenUp(reason)
		return lookup.Miss
	}
	var unsure *tier
	for _, t := range r.m.tiers {
		switch r.askTier(t, key) {
		case lookup.Hit:
			return r.bringIn(at, t, key)
		case lookup.Retry:
			if unsure == nil {
				unsure = t
			}
		}
	}
	if unsure == nil {
		return lookup.Miss
	}
	return r.filter(key, lookup.Retry, nil, 0, unsure.name)
}

// askTier asks one tier, and registers with it if it can't say yet.
func (r *Request) askTier(t *tier, key *lookup.Key) lookup.Result {
	m := r.m
	m.mu.Lock()
	notices := t.notices
	if t.doubted(key, r.scan.now) {
		m.stats.Withdrawn++
		m.mu.Unlock()
		return lookup.Miss
	}
	m.mu.Unlock()
	answer := t.ask(*key)
	if answer != lookup.Retry {
		return answer
	}
	m.mu.Lock()
	r.waitFor(nil, t)
	if t.notices != notices {
		r.woken = true // it has found out while it was saying that it didn't know
	}
	m.mu.Unlock()
	return answer
}

// bringIn promotes a block that a tier has, if the request would wait for it.
func (r *Request) bringIn(at lookup.At, t *tier, key *lookup.Key) lookup.Result {
	if answer := r.filter(key, lookup.Pending, nil, 0, t.name); answer != lookup.Pending {
		return answer
	}
	m := r.m
	m.mu.Lock()
	defer m.unlock()
	// Another request may have brought it in while the tier was asked.
	block, state := m.pool.Find(key)
	switch {
	case state == pool.Ready && r.claimHit(at, block):
		return lookup.Hit
	case state == pool.Ready:
		return lookup.Miss
	case state == pool.Free && (m.closed || r.generation != m.generation || !r.promote(t, key, r.scan.now)):
		return lookup.Miss
	case state == pool.Free:
		block, _ = m.pool.Find(key)
	}
	r.waitFor(m.writer(block), nil)
	return lookup.Pending
}

// filter is what the request is to see of an unresolved block. The lock is not held:
// the policy is asked.
func (r *Request) filter(key *lookup.Key, answer lookup.Result, j *Job, age time.Duration, tier string) lookup.Result {
	o := r.waits.Block(key, answer, age)
	if o.Result == lookup.Miss {
		r.noteGivenUp(o.Reason)
	}
	if o.GaveUp {
		r.reportGaveUp(GaveUpEvent{
			Request: r.id, Key: *key, Reason: o.Reason, Was: answer, Waited: o.Age, Age: age, Tier: tier,
		}, j)
	}
	return o.Result
}

func (r *Request) noteGivenUp(reason lookup.Reason) {
	if r.scan.gaveUp == lookup.ReasonNotStored {
		r.scan.gaveUp = reason
	}
}

func (r *Request) reportGaveUp(e GaveUpEvent, j *Job) {
	if j != nil {
		e.Job = j.id
	}
	m := r.m
	m.mu.Lock()
	m.stats.GivenUp++
	if m.events.GaveUp != nil {
		m.queue = append(m.queue, e)
	}
	m.unlock()
}

// Cut decides about a pending run.
func (s *source) Cut(run lookup.Run) bool {
	d := (*Request)(s).waits.Run(run)
	if d.Verdict == policy.Wait {
		return false
	}
	s.scan.cut = d.Reason
	return true
}
