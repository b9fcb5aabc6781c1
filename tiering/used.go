package tiering

import (
	"slices"

	"github.com/kvoffload/kvoffload/lookup"
	"github.com/kvoffload/kvoffload/tiering/internal/pool"
)

// used is a block that a request has loaded, written, or offered when it was
// readable already. When the request ends these become the newest: one access a
// request, however often it asked, with the end of a prefix before its start.
type used struct {
	key   lookup.Key
	block BlockID // where it was; it may have moved since
	gen   uint32
	end   int // token position at which the block ends, 0 if unknown
}

// noteUsed remembers a block for the order of eviction. The lock is held.
func (r *Request) noteUsed(key *lookup.Key, block BlockID, end int) {
	r.addUsed(used{key: *key, block: block, gen: r.m.pool.Gen(block), end: end})
}

// addUsed appends, and now and then drops the repetitions, so that a request that
// does the same over and over does not grow.
func (r *Request) addUsed(u used) {
	if len(r.used) >= r.usedLimit {
		r.used = r.distinctUsed()
		r.usedLimit = 2*len(r.used) + 1024
	}
	r.used = append(r.used, u)
}

// noteLoaded remembers the blocks of a plan that were handed out to be loaded. It is
// put off until the plan is replaced or the request ends, away from the hot path.
func (r *Request) noteLoaded() {
	s := &r.scan
	if !s.loading {
		return
	}
	s.loading = false
	for g := range s.memos {
		memo, keys := &s.memos[g], s.query.Keys[g]
		for _, part := range memo.unnoted(keys, s.lo[g], s.hi[g]) {
			r.used = slices.Grow(r.used, max(0, part.hi-part.lo))
			for i := part.lo; i < part.hi; i++ {
				index := memo.base + i
				r.addUsed(used{
					key: keys[index], block: memo.ids[i], gen: pool.MarkGen(memo.marks[i]),
					end: (index + 1) * r.m.layout.Groups[g].TokensPerBlock,
				})
			}
		}
	}
	for _, t := range s.tails {
		r.addUsed(used{
			key: s.query.TailKeys[t.at.Group][t.at.Index], block: t.block, gen: t.gen, end: s.plan.TailBoundary,
		})
	}
}

// touchUsed moves everything used to the newest ranks: deepest position first, or,
// if any position is unknown, in reverse of the order in which they were first used.
func (r *Request) touchUsed() {
	r.noteLoaded()
	list := r.distinctUsed()
	ordered, known := true, true
	for i := range list {
		known = known && list[i].end > 0
		ordered = ordered && (i == 0 || list[i-1].end <= list[i].end)
	}
	if known && !ordered {
		slices.SortStableFunc(list, func(a, b used) int { return a.end - b.end })
	}
	p := r.m.pool
	for i := len(list) - 1; i >= 0; i-- {
		u := &list[i]
		if p.InUse(u.block, u.gen) {
			p.Touch(u.block)
		} else if s, state := p.Find(&u.key); state != pool.Free {
			p.Touch(s)
		}
	}
}

// distinctUsed leaves the first of each key, with a position if any use had one.
func (r *Request) distinctUsed() []used {
	if len(r.used) < 2 || strictlyDeeper(r.used) {
		return r.used
	}
	first := make(map[lookup.Key]int, len(r.used))
	list := r.used[:0]
	for _, u := range r.used {
		if at, ok := first[u.key]; ok {
			if list[at].end == 0 {
				list[at].end = u.end
			}
			list[at].block, list[at].gen = u.block, u.gen
			continue
		}
		first[u.key] = len(list)
		list = append(list, u)
	}
	return list
}

// strictlyDeeper reports whether each entry ends behind the one before, as in the
// usual request, which loads a prefix and stores what follows: then all differ.
func strictlyDeeper(list []used) bool {
	for i := range list {
		if list[i].end == 0 || i > 0 && list[i].end <= list[i-1].end {
			return false
		}
	}
	return true
}
