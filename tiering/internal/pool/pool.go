// Package pool keeps the books of a fixed number of blocks: which key each one
// holds, whether it is being written, readable or claimed, and in which order
// readable ones are evicted.
//
// It is bookkeeping only: no lock, no clock, no bytes of KV. Its caller serializes
// all calls. Everything is held in a few flat arrays without pointers, so that the
// garbage collector does not walk a million blocks, and a block costs 64 bytes.
package pool

import (
	"encoding/binary"

	"github.com/kvoffload/kvoffload/lookup"
)

// Slot is the number of a block.
type Slot uint32

// MaxSlots is how many blocks a Pool can have: claim counts share a word with
// nothing, but slots leave room for marks in the tables of callers.
const MaxSlots = 1 << 28

// State is what a slot is used for.
type State uint8

const (
	// Free: nothing.
	Free State = iota
	// Pending: a write is in flight; the key is found, but can't be read.
	Pending
	// Ready: the key can be read.
	Ready
	// Orphan: the key is gone (Forget), but a write in flight or a claim still
	// uses the memory. Free when that ends.
	Orphan
)

// block is one slot's record. Its 44 bytes hold all that a lookup and a claim
// touch, so that they cost one place in memory; links of the eviction order are
// kept apart.
type block struct {
	hash lookup.Hash
	// gen counts the uses of the slot: it changes whenever a key leaves it.
	gen uint32
	// word is the number of claims of a Ready slot, the owner of a Pending one
	// (whoever writes it), the next free slot of a Free one. An Orphan keeps what
	// it had.
	word uint32
	// group is below lookup.MaxGroups.
	group uint16
	state State
	flags uint8
}

const (
	flagParked  = 1 << iota // in lru.parked: passed over as not evictable
	flagWriting             // an Orphan that is being written, else one that is claimed
)

// Pool is the book of all blocks. Make it with New.
type Pool struct {
	blocks []block
	table  table
	lru    lru
	free   Slot // head of the chain of free slots
	counts Counts
	// losses counts the Ready blocks that stopped being so: as long as it stands
	// still, what was readable is.
	losses uint64
}

// Counts says how many slots are in which state. Free + Pending + Ready + Orphan
// is the number of slots; Evictable of the Ready ones have no claim.
type Counts struct {
	Free, Pending, Ready, Orphan, Evictable int
}

// New makes a pool of n free slots, 1 to MaxSlots. The seed makes its hash
// unpredictable to whoever chooses the keys.
func New(n int, seed [4]uint64) *Pool {
	p := &Pool{blocks: make([]block, n), counts: Counts{Free: n}}
	p.table.init(n, seed)
	p.lru.init(n)
	for i := range p.blocks {
		p.blocks[i].gen = 1
		p.blocks[i].word = uint32(i) + 1
	}
	return p
}

// Len returns the number of slots.
func (p *Pool) Len() int { return len(p.blocks) }

// Counts returns how many slots are in which state.
func (p *Pool) Counts() Counts { return p.counts }

// Losses returns a number that changes whenever a readable block stops being
// readable.
func (p *Pool) Losses() uint64 { return p.losses }

// Find returns the slot that holds a key and whether it is Pending or Ready, or
// Free if no slot holds it.
func (p *Pool) Find(key *lookup.Key) (Slot, State) {
	s, ok := p.find(key, p.table.tag(key))
	if !ok {
		return 0, Free
	}
	return s, p.blocks[s].state
}

func (p *Pool) find(key *lookup.Key, tag uint32) (Slot, bool) {
	for i := p.table.home(tag); ; i = p.table.next(i) {
		e := p.table.entries[i]
		if e == 0 {
			return 0, false
		}
		if uint32(e>>32) == tag {
			if s := Slot(uint32(e) - 1); p.blocks[s].holds(key) {
				return s, true
			}
		}
	}
}

// holds compares the whole key: a server may use a weak hash.
func (b *block) holds(key *lookup.Key) bool {
	a, k := &b.hash, &key.Hash
	return word(a, 0) == word(k, 0) && word(a, 1) == word(k, 1) && word(a, 2) == word(k, 2) &&
		word(a, 3) == word(k, 3) && uint32(b.group) == key.Group
}

// word is the i-th quarter of a hash; four such loads are faster than a call to compare.
func word(h *lookup.Hash, i int) uint64 { return binary.LittleEndian.Uint64(h[8*i : 8*i+8]) }

// Key returns the key that a Pending or Ready slot holds.
func (p *Pool) Key(s Slot) lookup.Key {
	return lookup.Key{Hash: p.blocks[s].hash, Group: uint32(p.blocks[s].group)}
}

// Gen returns the generation of a slot.
func (p *Pool) Gen(s Slot) uint32 { return p.blocks[s].gen }

// Owner returns who writes a Pending slot.
func (p *Pool) Owner(s Slot) uint32 { return p.blocks[s].word }

// Readable reports whether a slot is still the Ready one it was in generation gen.
func (p *Pool) Readable(s Slot, gen uint32) bool {
	b := &p.blocks[s]
	return b.gen == gen && b.state == Ready
}

// InUse reports whether a slot still holds the key it held in generation gen.
func (p *Pool) InUse(s Slot, gen uint32) bool {
	b := &p.blocks[s]
	return b.gen == gen && (b.state == Pending || b.state == Ready)
}

// Writing reports whether a slot is still the Pending one it was in generation gen,
// or has been forgotten since while its write goes on.
func (p *Pool) Writing(s Slot, gen uint32) bool {
	b := &p.blocks[s]
	return b.gen == gen && (b.state == Pending || b.state == Orphan && b.flags&flagWriting != 0)
}

// Room returns how many blocks could be reserved now.
func (p *Pool) Room() int { return p.counts.Free + p.counts.Evictable }

// Reserve takes a slot for a key that no slot holds, evicting one if none is free;
// the slot is then Pending, written by owner, and the newest. If a key was evicted
// to make room, evicted says so and victim is it. ok is false, and nothing has
// changed, if there is no room.
func (p *Pool) Reserve(key *lookup.Key, owner uint32) (s Slot, victim lookup.Key, evicted, ok bool) {
	if p.counts.Free == 0 {
		v, found := p.victim()
		if !found {
			return 0, lookup.Key{}, false, false
		}
		victim, evicted = p.Key(v), true
		p.Drop(v)
	}
	s = p.free
	b := &p.blocks[s]
	p.free = Slot(b.word)
	b.hash, b.group = key.Hash, uint16(key.Group)
	b.state, b.word = Pending, owner
	p.counts.Free--
	p.counts.Pending++
	p.table.insert(p.table.tag(key), s)
	p.lru.pushNewest(s)
	return s, victim, evicted, true
}

// Commit makes a Pending slot Ready: its write has succeeded. For a forgotten one
// it frees the slot. The caller has checked Writing.
func (p *Pool) Commit(s Slot) {
	b := &p.blocks[s]
	if b.state == Orphan {
		p.release(s)
		return
	}
	b.state, b.word = Ready, 0
	p.counts.Pending--
	p.counts.Ready++
	p.becameEvictable(s)
}

// Drop frees a slot: a Pending one whose write failed, a forgotten one whose write
// has ended, or a Ready one without claims.
func (p *Pool) Drop(s Slot) {
	b := &p.blocks[s]
	switch b.state {
	case Pending:
		p.counts.Pending--
	case Ready:
		p.counts.Ready--
		p.counts.Evictable--
		p.losses++
	case Orphan:
		p.release(s)
		return
	}
	p.unlink(s)
	p.recycle(s)
}

// Forget makes sure that what a slot holds is never found again: at once free if
// nothing uses its memory, else an Orphan until that ends.
func (p *Pool) Forget(s Slot) {
	b := &p.blocks[s]
	switch {
	case b.state == Pending:
		p.counts.Pending--
		b.flags |= flagWriting
	case b.state == Ready && b.word > 0:
		p.counts.Ready--
		p.losses++
	case b.state == Ready:
		p.Drop(s)
		return
	default:
		return
	}
	p.unlink(s)
	b.state = Orphan
	p.counts.Orphan++
}

// ForgetAll forgets every slot.
func (p *Pool) ForgetAll() {
	for s := range p.blocks {
		p.Forget(Slot(s))
	}
}

// release frees an Orphan.
func (p *Pool) release(s Slot) {
	p.counts.Orphan--
	p.recycle(s)
}

// unlink takes a slot's key out of the table and the eviction order.
func (p *Pool) unlink(s Slot) {
	key := p.Key(s)
	p.table.remove(p.table.tag(&key), s)
	p.unpark(s)
	p.lru.remove(s)
}

// recycle puts a slot that nothing refers to on the free chain.
func (p *Pool) recycle(s Slot) {
	b := &p.blocks[s]
	b.gen = nextGen(b.gen)
	b.state, b.flags = Free, 0
	b.word = uint32(p.free)
	p.free = s
	p.counts.Free++
}

// MaxGen is the highest generation: one bit is left to the tables of callers.
const MaxGen = 1<<31 - 1

// nextGen leaves zero out: callers use it for "none".
func nextGen(g uint32) uint32 {
	if g >= MaxGen {
		return 1
	}
	return g + 1
}
