package pool

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvoffload/kvoffload/lookup"
)

// model is the pool written the slow and plain way: a list in order of eviction.
type model struct {
	size  int
	order []*entry // oldest first
	// draining are forgotten entries that still use a slot.
	draining int
}

type entry struct {
	key    lookup.Key
	ready  bool
	claims int
	slot   Slot
	gen    uint32
}

func (m *model) find(key lookup.Key) *entry {
	for _, e := range m.order {
		if e.key == key {
			return e
		}
	}
	return nil
}

func (m *model) remove(e *entry) {
	m.order = slices.DeleteFunc(m.order, func(o *entry) bool { return o == e })
}

// makeRoom returns the key that has to go, if any, and whether there is room.
func (m *model) makeRoom() (victim *entry, ok bool) {
	if len(m.order)+m.draining < m.size {
		return nil, true
	}
	for _, e := range m.order {
		if e.ready && e.claims == 0 {
			m.remove(e)
			return e, true
		}
	}
	return nil, false
}

// play does what the bytes say to a pool and to the model, and compares.
func play(t *testing.T, size int, script []byte) {
	t.Helper()
	p := New(size, [4]uint64{1, 2, 3, 4})
	m := &model{size: size}
	var draining []*entry
	for len(script) >= 2 {
		op, arg := script[0], script[1]
		script = script[2:]
		key := lookup.KeyFrom64(uint64(arg%29), uint32(arg%3))
		e := m.find(key)
		slot, state := p.Find(&key)
		switch {
		case e == nil:
			require.Equal(t, Free, state)
		case e.ready:
			require.Equal(t, Ready, state)
			require.Equal(t, e.slot, slot)
		default:
			require.Equal(t, Pending, state)
		}
		switch op % 8 {
		case 0, 1:
			if e != nil {
				break
			}
			victim, fits := m.makeRoom()
			s, gone, evicted, ok := p.Reserve(&key, uint32(arg))
			require.Equal(t, fits, ok)
			require.Equal(t, victim != nil, evicted)
			if victim != nil {
				require.Equal(t, victim.key, gone)
			}
			if ok {
				m.order = append(m.order, &entry{key: key, slot: s, gen: p.Gen(s)})
				require.Equal(t, uint32(arg), p.Owner(s))
			}
		case 2:
			if e != nil && !e.ready {
				p.Commit(e.slot)
				e.ready = true
			}
		case 3:
			if e != nil && e.claims == 0 {
				p.Drop(e.slot)
				m.remove(e)
			}
		case 4:
			if e != nil && e.ready {
				require.True(t, p.Claim(e.slot))
				e.claims++
			}
		case 5:
			switch {
			case e == nil || e.claims == 0:
			case op < 128:
				p.Release(e.slot)
				e.claims--
			default:
				p.ReleaseAll([]Slot{e.slot})
				e.claims--
			}
		case 6:
			if e != nil {
				p.Touch(e.slot)
				m.remove(e)
				m.order = append(m.order, e)
			}
		case 7:
			switch {
			case arg%2 == 0 && e != nil:
				p.Forget(e.slot)
				m.remove(e)
				if !e.ready || e.claims > 0 {
					m.draining++
					draining = append(draining, e)
				}
			case len(draining) > 0:
				old := draining[0]
				draining = draining[1:]
				m.draining--
				require.Equal(t, !old.ready, p.Writing(old.slot, old.gen))
				require.False(t, p.Readable(old.slot, old.gen))
				if !old.ready {
					p.Commit(old.slot)
				}
				for ; old.claims > 0; old.claims-- {
					p.ReleaseAll([]Slot{old.slot})
				}
			}
		}
		require.NoError(t, p.Check())
		var want []Slot
		for _, e := range m.order {
			want = append(want, e.slot)
		}
		require.Equal(t, want, p.AppendOrder(nil))
	}
}

func TestPoolAgainstModel(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		script := make([]byte, 600)
		for i := range script {
			script[i] = byte(rng.Uint32())
		}
		play(t, 1+int(seed%13), script)
	}
}

func FuzzPool(f *testing.F) {
	f.Add(uint8(3), []byte{0, 1, 2, 1, 4, 1, 0, 2, 2, 2, 0, 3, 0, 4})
	f.Fuzz(func(t *testing.T, size uint8, script []byte) {
		if len(script) > 2000 {
			script = script[:2000]
		}
		play(t, 1+int(size%20), script)
	})
}

// A thousand claimed blocks at the old end must not be walked past for each eviction,
// and must come back in their old order.
func TestP7_ClaimedOldBlocksKeepTheirRank(t *testing.T) {
	const n = 1000
	p := New(n, [4]uint64{1, 2, 3, 4})
	slots := make([]Slot, n)
	for i := range slots {
		key := lookup.KeyFrom64(uint64(i), 0)
		s, _, _, ok := p.Reserve(&key, 0)
		require.True(t, ok)
		p.Commit(s)
		slots[i] = s
		if i < n-1 {
			p.Claim(s)
		}
	}
	next := uint64(n)
	evict := func() lookup.Key {
		key := lookup.KeyFrom64(next, 0)
		next++
		s, victim, evicted, ok := p.Reserve(&key, 0)
		require.True(t, ok && evicted)
		p.Commit(s)
		p.Claim(s)
		return victim
	}
	require.Equal(t, lookup.KeyFrom64(n-1, 0), evict(), "the only block without a claim")
	_, _, _, ok := p.Reserve(&lookup.Key{}, 0)
	require.False(t, ok)
	for _, i := range []int{700, 3, 500} {
		p.Release(slots[i])
	}
	require.NoError(t, p.Check())
	for _, want := range []uint64{3, 500, 700} {
		require.Equal(t, lookup.KeyFrom64(want, 0), evict())
	}
}

// A slot that is claimed and released over and over while it is parked must not grow
// the heap without bound.
func TestP7_ParkedSlotsCostBoundedMemory(t *testing.T) {
	p := New(3, [4]uint64{1, 2, 3, 4})
	for i := range uint64(2) {
		key := lookup.KeyFrom64(i, 0)
		s, _, _, _ := p.Reserve(&key, 0)
		p.Commit(s)
	}
	p.Claim(0)
	victim, ok := p.victim() // parks slot 0
	require.True(t, ok)
	require.EqualValues(t, 1, victim)
	for range 10000 {
		p.Release(0)
		p.Claim(0)
	}
	require.Less(t, cap(p.lru.returned), 1000)
	p.Release(0)
	victim, ok = p.victim()
	require.True(t, ok)
	require.EqualValues(t, 0, victim, "it is still the oldest")
}

func TestClaimLeadingStopsAtTheFirstThatIsNoHit(t *testing.T) {
	p := New(8, [4]uint64{1, 2, 3, 4})
	keys := make([]lookup.Key, 5)
	for i := range keys {
		keys[i] = lookup.KeyFrom64(uint64(i), 0)
		s, _, _, _ := p.Reserve(&keys[i], 0)
		if i != 3 {
			p.Commit(s)
		}
	}
	ids, marks := make([]Slot, 5), make([]uint32, 5)
	require.Equal(t, 3, p.ClaimLeading(keys, ids, marks))
	require.Equal(t, Counts{Free: 3, Pending: 1, Ready: 4, Evictable: 1}, p.Counts())
	require.True(t, MarkClaimed(marks[2]))
	require.Equal(t, p.Gen(ids[2]), MarkGen(marks[2]))
	require.Zero(t, marks[3])
}

func TestGenerationsSkipZeroAndFitAMark(t *testing.T) {
	require.EqualValues(t, 1, nextGen(MaxGen))
	require.EqualValues(t, MaxGen, MarkGen(Mark(MaxGen, true)))
}
