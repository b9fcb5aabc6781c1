package lookup_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvoffload/kvoffload/lookup"
)

// results reads answers from a string: h hit, p pending, r retry, m miss, and ! for
// a value that is no answer. Blanks are for the eye.
func results(script string) []lookup.Result {
	rs := []lookup.Result{}
	for _, c := range strings.ReplaceAll(script, " ", "") {
		rs = append(rs, map[rune]lookup.Result{
			'h': lookup.Hit, 'p': lookup.Pending, 'r': lookup.Retry, 'm': lookup.Miss, '!': 200,
		}[c])
	}
	return rs
}

// tailBit sets the keys of tails apart from those of blocks.
const tailBit = 1 << 40

func keysOf(group, n int) []lookup.Key { return numbered(group, n, 0) }

func tailKeysOf(group, n int) []lookup.Key { return numbered(group, n, tailBit) }

func numbered(group, n int, from uint64) []lookup.Key {
	ks := make([]lookup.Key, n)
	for i := range ks {
		ks[i] = lookup.KeyFrom64(from+uint64(i), uint32(group))
	}
	return ks
}

func number(k lookup.Key) uint64 {
	var n uint64
	for _, b := range k.Hash[:8] {
		n = n<<8 | uint64(b)
	}
	return n
}

// world answers for the keys that keysOf and tailKeysOf make.
type world struct {
	blocks [][]lookup.Result
	tails  [][]lookup.Result
	asked  int
}

func (w *world) Lookup(k lookup.Key) lookup.Result {
	w.asked++
	return w.at(k)
}

func (w *world) at(k lookup.Key) lookup.Result {
	lists, i := w.blocks, number(k)
	if i >= tailBit {
		lists, i = w.tails, i-tailBit
	}
	if int(k.Group) >= len(lists) || i >= uint64(len(lists[k.Group])) {
		return lookup.Miss
	}
	return lists[k.Group][i]
}

func (w *world) keys() [][]lookup.Key {
	ks := make([][]lookup.Key, len(w.blocks))
	for g := range w.blocks {
		ks[g] = keysOf(g, len(w.blocks[g]))
	}
	return ks
}

func (w *world) tailKeys() [][]lookup.Key {
	if w.tails == nil {
		return nil
	}
	ks := make([][]lookup.Key, len(w.tails))
	for g := range w.tails {
		ks[g] = tailKeysOf(g, len(w.tails[g]))
	}
	return ks
}

// placedWorld is a world that counts leading hits. stride is how many it counts at
// most; with lie it answers that whatever is so.
type placedWorld struct {
	*world
	t      testing.TB
	query  *lookup.Query
	stride int
	lie    bool
}

func (w placedWorld) LookupAt(at lookup.At, k *lookup.Key) lookup.Result {
	w.t.Helper()
	w.check(at, k)
	return w.Lookup(*k)
}

func (w placedWorld) LeadingHits(at lookup.At, ks []lookup.Key) int {
	if w.lie {
		return w.stride
	}
	w.check(at, &ks[0])
	n := 0
	for n < min(len(ks), w.stride) && w.at(ks[n]) == lookup.Hit {
		n++
	}
	return n
}

// check sees to it that the place is that of the very key.
func (w placedWorld) check(at lookup.At, k *lookup.Key) {
	if w.query == nil {
		return
	}
	lists := w.query.Keys
	if at.Tail {
		lists = w.query.TailKeys
	}
	require.Same(w.t, &lists[at.Group][at.Index], k)
}

// budget is the gate of clause S4.
func budget(tokens int) lookup.Gate {
	return lookup.GateFunc(func(r lookup.Run) bool {
		if r.Tail {
			return tokens > 0 && r.Tokens <= tokens
		}
		return tokens > 0 && r.Blocks <= tokens/r.TokensPerBlock
	})
}

func scannerOf(t testing.TB, l lookup.Layout) *lookup.Scanner {
	t.Helper()
	s, err := lookup.NewScanner(l)
	require.NoError(t, err)
	return s
}

// planOf plans with a plain and with a placed source, and wants the same from both.
func planOf(t testing.TB, l lookup.Layout, q lookup.Query, w *world, g lookup.Gate) lookup.Plan {
	t.Helper()
	s := scannerOf(t, l)
	w.asked = 0
	p, err := s.Plan(&q, w, g)
	require.NoError(t, err)
	require.Equal(t, w.asked, p.Asked)
	for _, stride := range []int{1 << 30, 2, 0} {
		other, err := s.Plan(&q, placedWorld{world: w, t: t, query: &q, stride: stride}, g)
		require.NoError(t, err)
		require.Equal(t, p, other, "stride %d", stride)
	}
	return p
}

func full(tokens int) lookup.Group { return lookup.Group{TokensPerBlock: tokens} }

func sliding(tokens, window int) lookup.Group {
	return lookup.Group{Kind: lookup.SlidingWindow, TokensPerBlock: tokens, WindowBlocks: window}
}

func speculative(g lookup.Group) lookup.Group {
	g.Speculative = true
	return g
}

func randomResults(r *rand.Rand, n int, hits float64) []lookup.Result {
	rs := make([]lookup.Result, n)
	for i := range rs {
		if r.Float64() < hits {
			rs[i] = lookup.Hit
		} else {
			rs[i] = lookup.Result(r.IntN(lookup.Results))
		}
	}
	return rs
}
