package lookup_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvoffload/kvoffload/lookup"
)

// tailCase has blocks of 8 tokens and boundaries every 4 unless it says otherwise. A
// full group's tails come first, then a group of one state.
type tailCase struct {
	prompt   int
	tokens   int // zero: prompt
	computed int
	budget   int
	blocks   []string
	tails    []string
	want     int // -1: wait
	boundary int
	reason   lookup.Reason
}

func (c tailCase) run(t *testing.T) lookup.Plan {
	t.Helper()
	w := &world{}
	for g := range c.blocks {
		w.blocks = append(w.blocks, results(c.blocks[g]))
		w.tails = append(w.tails, results(c.tails[g]))
	}
	l := lookup.Layout{Groups: groups(full(8), sliding(8, 1)), TokensPerHash: 2, StateGrid: 8}
	q := lookup.Query{
		Keys: w.keys(), TailKeys: w.tailKeys(), Computed: c.computed,
		Tokens: max(c.prompt, c.tokens), PromptTokens: c.prompt,
	}
	p := planOf(t, l, q, w, budget(c.budget))
	if c.want < 0 {
		require.Equal(t, lookup.Wait, p.Action, "%+v: %+v", c, p)
	} else {
		require.NotEqual(t, lookup.Wait, p.Action, "%+v: %+v", c, p)
		require.Equal(t, c.want, p.Tokens, "%+v: %+v", c, p)
	}
	require.Equal(t, c.boundary, p.TailBoundary, "%+v: %+v", c, p)
	require.Equal(t, c.reason, p.Reason, "%+v: %+v", c, p)
	return p
}

func TestS7_Tail(t *testing.T) {
	const waitPending, waitRetry = lookup.ReasonPending, lookup.ReasonRetry
	for name, c := range map[string]tailCase{
		"the longest at which all hit": {
			prompt: 20, blocks: []string{"hm", "hm"}, tails: []string{"mmmm hhh", "mmmm hhm"},
			want: 12, boundary: 12, reason: lookup.ReasonReady},
		"never the last prompt token": {
			prompt: 12, blocks: []string{"h", "h"}, tails: []string{"mmmm hh", "mmmm hh"},
			want: 10, boundary: 10, reason: lookup.ReasonReady},
		"nor what was generated": {
			prompt: 12, tokens: 15, blocks: []string{"h", "h"}, tails: []string{"mmmm hhh", "mmmm hhh"},
			want: 10, boundary: 10, reason: lookup.ReasonReady},
		"less than a block beyond": {
			prompt: 30, blocks: []string{"hmh", "hmh"}, tails: []string{"mmmm mmmh hh", "mmmm mmmh hh"},
			want: 8, reason: lookup.ReasonReady},
		"from nothing": {
			prompt: 20, blocks: []string{"mm", "mm"}, tails: []string{"mmh", "hmh"},
			want: 6, boundary: 6, reason: lookup.ReasonReady},
		"beyond computed tokens": {
			prompt: 30, computed: 8, blocks: []string{"mmm", "mmm"}, tails: []string{"mmmm mh", "mmmm mh"},
			want: 4, boundary: 12, reason: lookup.ReasonReady},
		"pending, but blocks are ready": {
			prompt: 20, blocks: []string{"hm", "hm"}, tails: []string{"mmmm p", "mmmm p"},
			want: 8, reason: lookup.ReasonReady},
		"retry, but blocks are ready": {
			prompt: 20, blocks: []string{"hm", "hm"}, tails: []string{"mmmm r", "mmmm r"},
			want: 8, reason: lookup.ReasonReady},
		"a shorter one is taken, not waited for": {
			prompt: 20, blocks: []string{"mm", "mm"}, tails: []string{"mhp", "mhp"},
			want: 4, boundary: 4, reason: lookup.ReasonReady},
		"pending waits": {
			prompt: 20, blocks: []string{"mm", "mm"}, tails: []string{"mmp", "mmh"},
			want: -1, reason: waitPending},
		"budget too small": {
			prompt: 20, budget: 5, blocks: []string{"mm", "mm"}, tails: []string{"mmp", "mmh"},
			want: -1, reason: waitPending},
		"budget covers it": {
			prompt: 20, budget: 6, blocks: []string{"mm", "mm"}, tails: []string{"mmp", "mmh"},
			want: 0, reason: lookup.ReasonBudget},
		"the highest awaitable pending one, not the longest": {
			prompt: 20, budget: 4, blocks: []string{"mm", "mm"}, tails: []string{"ppp", "ppm"},
			want: 0, reason: lookup.ReasonBudget},
		"but the highest of them": {
			prompt: 20, budget: 3, blocks: []string{"mm", "mm"}, tails: []string{"ppp", "pph"},
			want: -1, reason: waitPending},
		"retry waits whatever the budget": {
			prompt: 20, budget: 1000, blocks: []string{"mm", "mm"}, tails: []string{"mpr", "mhh"},
			want: -1, reason: waitRetry},
		"a lower retry, too": {
			prompt: 20, budget: 1000, blocks: []string{"mm", "mm"}, tails: []string{"rmp", "hmh"},
			want: -1, reason: waitRetry},
		"where any group misses nobody waits": {
			prompt: 20, blocks: []string{"mm", "mm"}, tails: []string{"rpr", "mmm"},
			want: 0, reason: lookup.ReasonNotStored},
		"or has no key": {
			prompt: 20, blocks: []string{"mm", "mm"}, tails: []string{"rpr", ""},
			want: 0, reason: lookup.ReasonNotStored},
		"the complete part waits": {
			prompt: 20, blocks: []string{"hp", "hh"}, tails: []string{"mmmm hh", "mmmm hh"},
			want: -1, reason: waitPending},
		"the complete part is cut, the tail taken": {
			prompt: 20, budget: 8, blocks: []string{"hp", "hh"}, tails: []string{"mmmm hm", "mmmm hm"},
			want: 10, boundary: 10, reason: lookup.ReasonBudget},
		"a block between unaligned tokens and the tail is needed": {
			prompt: 30, computed: 4, blocks: []string{"mhh", "mhh"}, tails: []string{"mmmm h", "mmmm h"},
			want: 0, reason: lookup.ReasonNotStored},
		"pending makes it wait": {
			prompt: 30, computed: 4, blocks: []string{"pmm", "mmm"}, tails: []string{"mmmm h", "mmmm h"},
			want: -1, reason: waitPending},
	} {
		t.Run(name, func(t *testing.T) { c.run(t) })
	}
}

func TestS7_TheRunOfATail(t *testing.T) {
	p := tailCase{prompt: 30, computed: 8, budget: 6, want: 0, reason: lookup.ReasonBudget,
		blocks: []string{"hmm", "hmm"}, tails: []string{"mmmm mhm", "mmmm mpm"}}.run(t)
	require.Equal(t, lookup.Run{Group: 1, First: 1, TokensPerBlock: 8, Tokens: 4, Tail: true}, p.Cut)
	s := scannerOf(t, lookup.Layout{Groups: groups(full(8)), TokensPerHash: 2})
	for boundary, index := range map[int]int{2: 0, 12: 5, 0: -1, -2: -1, 3: -1} {
		require.Equal(t, index, s.TailIndex(boundary))
	}
	s = scannerOf(t, lookup.Layout{Groups: groups(full(8))})
	require.Equal(t, -1, s.TailIndex(4))
}

func TestS7_NoTailWithASpeculativeGroup(t *testing.T) {
	w := &world{blocks: [][]lookup.Result{results("hm")}, tails: [][]lookup.Result{results("hhhh hh")}}
	l := lookup.Layout{Groups: groups(speculative(full(8))), TokensPerHash: 2}
	p := planOf(t, l, lookup.Query{Keys: w.keys(), TailKeys: w.tailKeys(), Tokens: 16}, w, nil)
	require.Equal(t, lookup.Recompute, p.Action)
}

func TestS8_TailNumbersThatAreNone(t *testing.T) {
	hit := lookup.SourceFunc(func(lookup.Key) lookup.Result { return lookup.Hit })
	good := lookup.TailQuery{
		Keys: [][]lookup.Key{tailKeysOf(0, 6)}, TokensPerHash: 2, TokensPerBlock: 8, PromptTokens: 13,
	}
	require.Equal(t, 6, lookup.Tail(hit, good, nil).Boundary)
	for _, n := range []int{0, -1, math.MinInt, lookup.MaxTokens + 1, math.MaxInt} {
		for _, change := range []func(*lookup.TailQuery){
			func(q *lookup.TailQuery) { q.TokensPerHash = n },
			func(q *lookup.TailQuery) { q.TokensPerBlock = n },
			func(q *lookup.TailQuery) { q.PromptTokens = n },
			func(q *lookup.TailQuery) { q.Keys = nil },
			func(q *lookup.TailQuery) { q.Complete = n | math.MinInt },
		} {
			q := good
			change(&q)
			require.Zero(t, lookup.Tail(hit, q, nil), "%+v", q)
		}
	}
	require.Equal(t, lookup.TailFound{Asked: 3}, lookup.Tail(nil, good, nil))
}
