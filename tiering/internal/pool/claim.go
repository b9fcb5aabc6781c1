package pool

import "github.com/kvoffload/kvoffload/lookup"

// MaxClaims is how many claims one slot can have at a time.
const MaxClaims = 1<<32 - 1

// Claim keeps a Ready slot from being evicted until Release. It reports false, and
// changes nothing, if the slot has as many claims as can be counted.
func (p *Pool) Claim(s Slot) bool {
	b := &p.blocks[s]
	if b.word == MaxClaims {
		return false
	}
	if b.word == 0 {
		p.counts.Evictable--
	}
	b.word++
	return true
}

// Release takes a claim back.
func (p *Pool) Release(s Slot) {
	b := &p.blocks[s]
	b.word--
	if b.word > 0 {
		return
	}
	if b.state == Orphan {
		p.release(s)
		return
	}
	p.becameEvictable(s)
}

// ReleaseAll takes a claim back from each of slots.
func (p *Pool) ReleaseAll(slots []Slot) {
	evictable := 0
	for _, s := range slots {
		b := &p.blocks[s]
		if b.word > 1 {
			b.word--
			continue
		}
		if b.state != Ready || b.flags&flagParked != 0 {
			p.Release(s)
			continue
		}
		b.word = 0
		evictable++
	}
	p.counts.Evictable += evictable
}

// lookahead is how many keys ClaimLeading hashes and looks for in the table before it
// touches the first block: their places in memory are far apart, and fetched at the
// same time they cost little more than one.
const lookahead = 32

// ClaimLeading claims the slots of the leading keys that are Ready and writes down
// which they are: ids[i] the slot and marks[i] its Mark for keys[i]. It returns how
// many.
func (p *Pool) ClaimLeading(keys []lookup.Key, ids []Slot, marks []uint32) int {
	var tags [lookahead]uint32
	var heads [lookahead]uint64
	for done := 0; done < len(keys); {
		n := min(lookahead, len(keys)-done)
		for i := range n {
			tags[i] = p.table.tag(&keys[done+i])
			heads[i] = p.table.entries[p.table.home(tags[i])]
		}
		claimed := p.claimFound(keys[done:done+n], &tags, &heads, ids[done:done+n], marks[done:done+n])
		done += claimed
		if claimed < n {
			return done
		}
	}
	return len(keys)
}

// claimFound is ClaimLeading for keys of which the tags, and the entries at their home,
// are known.
func (p *Pool) claimFound(keys []lookup.Key, tags *[lookahead]uint32, heads *[lookahead]uint64, ids []Slot, marks []uint32) int {
	evictable := 0
	for i := range keys {
		// Most keys are found at their home.
		s := Slot(uint32(heads[i]) - 1)
		if uint32(heads[i]>>32) != tags[i] || heads[i] == 0 || !p.blocks[s].holds(&keys[i]) {
			var ok bool
			if s, ok = p.find(&keys[i], tags[i]); !ok {
				p.counts.Evictable -= evictable
				return i
			}
		}
		b := &p.blocks[s]
		if b.state != Ready || b.word == MaxClaims {
			p.counts.Evictable -= evictable
			return i
		}
		if b.word == 0 {
			evictable++
		}
		b.word++
		ids[i], marks[i] = s, Mark(b.gen, true)
	}
	p.counts.Evictable -= evictable
	return len(keys)
}

// A mark remembers of a slot in a caller's table which generation of it is meant
// and whether the caller has claimed it. Zero is none.

// Mark makes a mark.
func Mark(gen uint32, claimed bool) uint32 {
	if claimed {
		return gen<<1 | 1
	}
	return gen << 1
}

// MarkGen returns the generation of a mark.
func MarkGen(m uint32) uint32 { return m >> 1 }

// MarkClaimed reports whether a mark says that the slot is claimed.
func MarkClaimed(m uint32) bool { return m&1 != 0 }
