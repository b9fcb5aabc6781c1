package pool

import (
	"encoding/binary"
	"math/bits"

	"github.com/kvoffload/kvoffload/lookup"
)

// table finds slots by key: open addressing with linear probing and no tombstones.
// An entry is a tag (32 bits of the key's hash) above a slot plus one; zero is
// empty. The tag also says where the entry belongs, so that keys need not be
// hashed again to close a gap.
type table struct {
	entries []uint64
	size    uint64
	seed    [4]uint64
}

// init sizes the table for n entries at a load of 0.7: 11.4 bytes an entry, about
// two probes for a key that is there.
func (t *table) init(n int, seed [4]uint64) {
	t.size = uint64(n)*10/7 + 8
	t.entries = make([]uint64, t.size)
	t.seed = seed
	for i := range t.seed {
		t.seed[i] |= 1 // zero would erase what it is multiplied with
	}
}

// tag hashes the whole key, not just the first bytes of its hash: servers with
// weak hashes exist. The multiplications fold as in wyhash; without the seed nobody can
// aim at one place in the table.
func (t *table) tag(key *lookup.Key) uint32 {
	h := key.Hash[:]
	a := binary.LittleEndian.Uint64(h[0:8]) ^ t.seed[0]
	b := binary.LittleEndian.Uint64(h[8:16]) ^ t.seed[1]
	c := binary.LittleEndian.Uint64(h[16:24]) ^ t.seed[2]
	d := binary.LittleEndian.Uint64(h[24:32]) ^ t.seed[3] ^ uint64(key.Group)*0x9e3779b97f4a7c15
	hi, lo := bits.Mul64(a, b)
	hi2, lo2 := bits.Mul64(c, d)
	hi, lo = bits.Mul64(hi^lo^bits.RotateLeft64(hi2^lo2, 23), 0xa0761d6478bd642f)
	return uint32((hi ^ lo) >> 32)
}

// home is where an entry with this tag belongs: the tag scaled to the table's size.
func (t *table) home(tag uint32) uint64 { return uint64(tag) * t.size >> 32 }

func (t *table) next(i uint64) uint64 {
	if i++; i == t.size {
		return 0
	}
	return i
}

func (t *table) insert(tag uint32, s Slot) {
	i := t.home(tag)
	for t.entries[i] != 0 {
		i = t.next(i)
	}
	t.entries[i] = uint64(tag)<<32 | uint64(s+1)
}

// remove takes an entry out and moves back those behind it that the gap would
// hide.
func (t *table) remove(tag uint32, s Slot) {
	want := uint64(tag)<<32 | uint64(s+1)
	gap := t.home(tag)
	for t.entries[gap] != want {
		gap = t.next(gap)
	}
	for i := t.next(gap); t.entries[i] != 0; i = t.next(i) {
		if t.between(gap, t.home(uint32(t.entries[i]>>32)), i) {
			continue
		}
		t.entries[gap] = t.entries[i]
		gap = i
	}
	t.entries[gap] = 0
}

// between reports whether home lies after gap and not after i, going round the
// end: such an entry is found without the gap.
func (t *table) between(gap, home, i uint64) bool {
	if gap <= i {
		return gap < home && home <= i
	}
	return gap < home || home <= i
}
