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

// ClaimLeading claims the slots of the leading keys that are Ready and writes down
// which they are: ids[i] the slot and marks[i] its Mark for keys[i]. It returns how
// many.
func (p *Pool) ClaimLeading(keys []lookup.Key, ids []Slot, marks []uint32) int {
	for i := range keys {
		key := &keys[i]
		s, ok := p.find(key, p.table.tag(key))
		if !ok {
			return i
		}
		b := &p.blocks[s]
		if b.state != Ready || !p.Claim(s) {
			return i
		}
		ids[i], marks[i] = s, Mark(b.gen, true)
	}
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
