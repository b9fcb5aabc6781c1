package tiering

import (
	"fmt"
	"slices"

	"github.com/kvoffload/kvoffload/lookup"
	"github.com/kvoffload/kvoffload/tiering/internal/pool"
)

// Claim keeps blocks from being evicted until it is released, once, by whoever holds
// it. The zero Claim has no blocks and counts as released.
type Claim struct {
	r *Request
	// serial tells which of the request's plans a claim belongs to; with set it is
	// a claim of its own.
	serial uint64
	set    *claimSet
}

// claims are what a request has claimed.
type claims struct {
	// serial numbers the plans that handed out a claim. The claim of the last one
	// is held if open; its blocks are those of the scan, if the scan is still that
	// plan's, and carried.
	serial  uint64
	open    bool
	inScan  bool
	carried []BlockID
	// sets is the list of claims made with Request.Claim.
	sets *claimSet
}

// claimSet is a claim made with Request.Claim, or detached.
type claimSet struct {
	m          *Manager
	blocks     []BlockID
	released   bool
	owner      *Request // nil once detached
	prev, next *claimSet
}

// Release gives the blocks back. A second release changes nothing and is an
// [ErrReleased]; so is one of a claim that a later plan has taken over or that End
// has released.
func (c Claim) Release() error {
	switch {
	case c.set != nil:
		return c.set.release()
	case c.r == nil:
		return ErrReleased
	}
	r, m := c.r, c.r.m
	m.mu.Lock()
	defer m.unlock()
	if r.ended || !r.claims.open || r.claims.serial != c.serial {
		return ErrReleased
	}
	r.releasePlan()
	m.check()
	return nil
}

// Detach makes a claim that outlives the request, for a transfer that End can't stop.
// Whoever detaches it must release it. The old handle is void.
func (c Claim) Detach() (Claim, error) {
	if c.set != nil {
		return c.set.detach()
	}
	if c.r == nil {
		return Claim{}, ErrReleased
	}
	r, m := c.r, c.r.m
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.ended || !r.claims.open || r.claims.serial != c.serial {
		return Claim{}, ErrReleased
	}
	set := &claimSet{m: m, blocks: r.planBlocks(nil)}
	r.claims.open, r.claims.inScan = false, false
	r.claims.carried = nil
	return Claim{set: set}, nil
}

// Group returns the blocks of group g that a plan wants loaded: blocks[i] holds block
// first+i of Query.Keys[g]. The slice must not be changed; it is good until the claim
// is released. A claim that is no plan's, or void, has none.
//
// It may be called only by the goroutine that the request belongs to.
func (c Claim) Group(g int) (first int, blocks []BlockID) {
	if !c.current() || g < 0 || g >= len(c.r.scan.memos) {
		return 0, nil
	}
	s := &c.r.scan
	memo := &s.memos[g]
	return memo.base + s.lo[g], memo.ids[s.lo[g]:s.hi[g]:s.hi[g]]
}

// Tail returns the block of group g that holds the partial tail, if the plan has one.
func (c Claim) Tail(g int) (BlockID, bool) {
	if !c.current() {
		return 0, false
	}
	for _, t := range c.r.scan.tails {
		if t.at.Group == g {
			return t.block, true
		}
	}
	return 0, false
}

// Blocks returns the blocks of a claim made with Request.Claim or Detach, in the
// order of its keys.
func (c Claim) Blocks() []BlockID {
	if c.set == nil {
		return nil
	}
	return slices.Clone(c.set.blocks)
}

func (c Claim) current() bool {
	if c.r == nil || c.set != nil {
		return false
	}
	c.r.m.mu.Lock()
	defer c.r.m.mu.Unlock()
	k := &c.r.claims
	return !c.r.ended && k.open && k.inScan && k.serial == c.serial
}

// claimPlan hands out what the scan has claimed, together with what an earlier plan
// of the request still holds. The lock is held.
func (r *Request) claimPlan() Claim {
	k := &r.claims
	k.serial++
	k.open, k.inScan = true, true
	if len(k.carried) > 0 {
		r.mergeCarried()
	}
	return Claim{r: r, serial: k.serial}
}

// setAside makes way for a new scan: the blocks of a claim that is still held are
// written down apart, and their arrays left to whoever is reading them.
func (r *Request) setAside() {
	k := &r.claims
	r.noteLoaded()
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	if !k.open || !k.inScan {
		r.scan.tails = r.scan.tails[:0]
		return
	}
	k.carried = r.planBlocks(nil)
	k.inScan = false
	for g := range r.scan.memos {
		r.scan.memos[g].abandon()
	}
	r.scan.tails = nil
}

// planBlocks appends all blocks that the plan's claim holds, once for each claim.
func (r *Request) planBlocks(dst []BlockID) []BlockID {
	dst = append(dst, r.claims.carried...)
	if !r.claims.inScan {
		return dst
	}
	s := &r.scan
	for g := range s.memos {
		dst = append(dst, s.memos[g].ids[s.lo[g]:s.hi[g]]...)
	}
	for _, t := range s.tails {
		dst = append(dst, t.block)
	}
	return dst
}

// mergeCarried gives back those of the carried claims that the new plan has too, so
// that planning over and over stacks nothing.
func (r *Request) mergeCarried() {
	k := &r.claims
	carried := k.carried
	k.carried = nil
	fresh := r.planBlocks(nil)
	have := make(map[BlockID]struct{}, len(fresh))
	for _, b := range fresh {
		have[b] = struct{}{}
	}
	for _, b := range carried {
		if _, both := have[b]; both {
			r.m.pool.Release(b)
			continue
		}
		k.carried = append(k.carried, b)
	}
}

// releasePlan releases the plan's claim. The lock is held.
func (r *Request) releasePlan() {
	k := &r.claims
	if !k.open {
		return
	}
	p := r.m.pool
	p.ReleaseAll(k.carried)
	if s := &r.scan; k.inScan {
		for g := range s.memos {
			p.ReleaseAll(s.memos[g].ids[s.lo[g]:s.hi[g]])
		}
		for _, t := range s.tails {
			p.Release(t.block)
		}
	}
	k.open, k.inScan, k.carried = false, false, nil
}

// releaseAll releases everything that the request has claimed. The lock is held.
func (r *Request) releaseAll() {
	r.releasePlan()
	for c := r.claims.sets; c != nil; c = c.next {
		c.owner, c.released = nil, true
		c.free()
	}
	r.claims.sets = nil
}

// Claim claims the given blocks, for a transfer that no Plan of this package asked
// for. ends[i] is the token position at which keys[i] ends, for eviction; nil if that
// isn't known. All or none: if one is not readable now the error wraps
// [ErrNotResident] and says which. Each call makes a claim of its own.
func (r *Request) Claim(keys []lookup.Key, ends []int) (Claim, error) {
	if ends != nil && len(ends) != len(keys) {
		return Claim{}, fmt.Errorf("%w: %d ends for %d keys", ErrStore, len(ends), len(keys))
	}
	if err := r.enter(); err != nil {
		return Claim{}, err
	}
	now := r.m.now()
	m := r.m
	m.mu.Lock()
	defer m.unlock()
	set := &claimSet{m: m, owner: r, blocks: make([]BlockID, 0, len(keys))}
	for i := range keys {
		block, state := m.pool.Find(&keys[i])
		if state != pool.Ready || !m.pool.Claim(block) {
			set.free()
			r.leaveLocked(now)
			return Claim{}, fmt.Errorf("%w: %v is %v", ErrNotResident, keys[i], m.state(&keys[i]))
		}
		set.blocks = append(set.blocks, block)
	}
	for i := range keys {
		r.noteUsed(&keys[i], set.blocks[i], endOf(ends, i))
	}
	set.next = r.claims.sets
	if set.next != nil {
		set.next.prev = set
	}
	r.claims.sets = set
	if r.leaveLocked(now) {
		return Claim{}, ErrEnded
	}
	return Claim{set: set}, nil
}

func (c *claimSet) release() error {
	c.m.mu.Lock()
	defer c.m.unlock()
	if c.released {
		return ErrReleased
	}
	c.unlink()
	c.released = true
	c.free()
	c.m.check()
	return nil
}

func (c *claimSet) detach() (Claim, error) {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	if c.released {
		return Claim{}, ErrReleased
	}
	c.unlink()
	set := &claimSet{m: c.m, blocks: c.blocks}
	c.released, c.blocks = true, nil
	return Claim{set: set}, nil
}

// unlink takes the claim off its request's list.
func (c *claimSet) unlink() {
	if c.owner == nil {
		return
	}
	if c.prev != nil {
		c.prev.next = c.next
	} else {
		c.owner.claims.sets = c.next
	}
	if c.next != nil {
		c.next.prev = c.prev
	}
	c.owner, c.prev, c.next = nil, nil, nil
}

// free gives the blocks back.
func (c *claimSet) free() {
	c.m.pool.ReleaseAll(c.blocks)
	c.blocks = nil
}
