package tiering

import (
	"slices"
	"sort"

	"github.com/kvoffload/kvoffload/lookup"
	"github.com/kvoffload/kvoffload/tiering/internal/pool"
)

// memo is what a request remembers of one group's blocks from its last scan: where
// each hit is, and which generation of that place was seen, so that asking again
// costs what has changed.
//
// Indexes are relative to base, the first block that is not computed yet.
type memo struct {
	base int
	// ids and marks, see pool.Mark; a zero mark is no hit.
	ids   []BlockID
	marks []uint32
	// open lists, ascending, the blocks below scanned that were no hit when they
	// were asked for; the others below scanned were hits.
	open    []int32
	scanned int
	// spans are the blocks claimed by the scan that is going on.
	spans []span
	// noted are the blocks of these keys, by their index in the query, that are in
	// Request.used.
	noted     span
	notedKeys *lookup.Key
}

// span is the blocks from lo to hi-1.
type span struct{ lo, hi int }

// reset forgets everything and makes room for n blocks from index base.
func (m *memo) reset(base, n int) {
	m.base, m.scanned = base, 0
	m.open, m.spans = m.open[:0], m.spans[:0]
	if cap(m.ids) < n {
		m.ids = make([]BlockID, n)
		m.marks = make([]uint32, n)
		return
	}
	m.ids, m.marks = m.ids[:n], m.marks[:n]
	clear(m.marks)
}

// abandon leaves the arrays to whoever still reads them.
func (m *memo) abandon() { m.ids, m.marks = nil, nil }

// knownHits returns how many blocks from rel on are known to be hits, at most n.
func (m *memo) knownHits(rel, n int) int {
	end := min(m.scanned, rel+n)
	at := sort.Search(len(m.open), func(i int) bool { return int(m.open[i]) >= rel })
	for ; at < len(m.open) && int(m.open[at]) < end; at++ {
		if o := int(m.open[at]); m.marks[o] == 0 {
			return o - rel
		}
	}
	return max(0, end-rel)
}

// hit notes a block that the scan has found and claimed.
func (m *memo) hit(rel int, id BlockID, mark uint32) {
	m.ids[rel], m.marks[rel] = id, mark
	m.claimed(rel, rel+1)
}

// claimed notes that the scan has claimed blocks lo to hi-1.
func (m *memo) claimed(lo, hi int) {
	if n := len(m.spans); n > 0 && m.spans[n-1].hi == lo {
		m.spans[n-1].hi = hi
	} else {
		m.spans = append(m.spans, span{lo, hi})
	}
	if lo <= m.scanned {
		m.scanned = max(m.scanned, hi)
	}
}

// miss notes a block that is no hit. Only blocks asked for in order count as
// scanned: a sliding window is asked for from its end, and remembers its hits alone.
func (m *memo) miss(rel int) {
	if rel == m.scanned {
		m.open = append(m.open, int32(rel))
		m.scanned++
	}
}

// unnoted returns which of the blocks lo to hi-1 have not been noted as used, and
// takes them for noted. A query's keys don't change, so the same list names the same
// blocks.
func (m *memo) unnoted(keys []lookup.Key, lo, hi int) [2]span {
	if lo >= hi {
		return [2]span{}
	}
	lo, hi = lo+m.base, hi+m.base
	old := m.noted
	if m.notedKeys != &keys[0] || hi < old.lo || lo > old.hi {
		m.notedKeys, m.noted = &keys[0], span{lo, hi}
		return [2]span{{lo - m.base, hi - m.base}}
	}
	m.noted = span{min(lo, old.lo), max(hi, old.hi)}
	return [2]span{
		{lo - m.base, min(hi, old.lo) - m.base},
		{max(lo, old.hi) - m.base, hi - m.base},
	}
}

// tidy drops from open what has become a hit.
func (m *memo) tidy() {
	m.open = slices.DeleteFunc(m.open, func(o int32) bool { return m.marks[o] != 0 })
}

// release gives back the claims of the scan outside lo to hi-1.
func (m *memo) release(p *pool.Pool, lo, hi int) {
	for _, s := range m.spans {
		for i := s.lo; i < s.hi; i++ {
			if lo <= i && i < hi {
				i = hi - 1 // on to the end of what is kept
				continue
			}
			p.Release(m.ids[i])
			m.marks[i] &^= 1
		}
	}
	m.spans = m.spans[:0]
}

// claim makes sure that blocks lo to hi-1 are claimed. It reports false if one of
// them is not what was remembered any more; the claims made are then in spans.
func (m *memo) claim(p *pool.Pool, lo, hi int) bool {
	if len(m.spans) == 1 && m.spans[0].lo <= lo && hi <= m.spans[0].hi {
		return true // the usual plan: all of it claimed while it was scanned
	}
	for i := lo; i < hi; i++ {
		mark := m.marks[i]
		switch {
		case pool.MarkClaimed(mark):
		case mark != 0 && p.Readable(m.ids[i], pool.MarkGen(mark)) && p.Claim(m.ids[i]):
			m.marks[i] |= 1
			m.spans = append(m.spans, span{i, i + 1})
		default:
			return false
		}
	}
	return true
}

// valid reports whether every remembered hit is still one.
func (m *memo) valid(p *pool.Pool) bool {
	for i, mark := range m.marks {
		if mark != 0 && !p.Readable(m.ids[i], pool.MarkGen(mark)) {
			return false
		}
	}
	return true
}
