package lookup_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvoffload/kvoffload/lookup"
)

// hybridCase is one agreement of groups. Blocks are scripts, one for each group.
type hybridCase struct {
	groups   []lookup.Group
	grid     int
	tokens   int
	computed int
	budget   int
	blocks   []string
	want     int // -1: wait
	asked    int // -1: whatever
}

func (c hybridCase) run(t *testing.T) lookup.Plan {
	t.Helper()
	w := &world{}
	for _, script := range c.blocks {
		w.blocks = append(w.blocks, results(script))
	}
	q := lookup.Query{Keys: w.keys(), Tokens: c.tokens, Computed: c.computed}
	p := planOf(t, lookup.Layout{Groups: c.groups, StateGrid: c.grid}, q, w, budget(c.budget))
	if c.want < 0 {
		require.Equal(t, lookup.Wait, p.Action, "%+v: %+v", c, p)
	} else {
		require.NotEqual(t, lookup.Wait, p.Action, "%+v: %+v", c, p)
		require.Equal(t, c.want, p.Tokens, "%+v: %+v", c, p)
	}
	if c.asked >= 0 {
		require.Equal(t, c.asked, p.Asked, "%+v: %+v", c, p)
	}
	return p
}

func groups(gs ...lookup.Group) []lookup.Group { return gs }

func TestS6_GroupsAgree(t *testing.T) {
	for name, c := range map[string]hybridCase{
		"one full group reaches the end": {
			groups: groups(full(4)), tokens: 12, blocks: []string{"hhh"}, want: 12, asked: 3},
		"a window leaves the last token": {
			groups: groups(sliding(4, 1)), tokens: 12, blocks: []string{"hhh"}, want: 11, asked: 1},
		"computed blocks are not asked for": {
			groups: groups(full(4)), tokens: 12, computed: 8, blocks: []string{"mmh"}, want: 4, asked: 1},
		"the block in which computed tokens end is": {
			groups: groups(full(4)), tokens: 12, computed: 6, blocks: []string{"mmh"}, want: 0, asked: 1},
		"unaligned computed tokens": {
			groups: groups(full(4)), tokens: 12, computed: 6, blocks: []string{"mhh"}, want: 6, asked: 2},
		"less than a block is nothing": {
			groups: groups(full(4)), tokens: 12, computed: 9, blocks: []string{"hhh"}, want: 0, asked: 0},
		"all computed": {
			groups: groups(full(4)), tokens: 12, computed: 12, blocks: []string{"hhh"}, want: 0, asked: 0},
		"a partly used block is needed whole": {
			groups: groups(full(4), full(8)), tokens: 16, blocks: []string{"hhhm", "hm"}, want: 8, asked: 4 + 2},
		"and if it is there its part is used": {
			groups: groups(full(4), full(8)), tokens: 16, blocks: []string{"hhhm", "hh"}, want: 12, asked: 4 + 2},
		"nothing in one group is nothing": {
			groups: groups(full(4), full(4)), tokens: 12, blocks: []string{"hhh", "mhh"}, want: 0, asked: 4},
		"even if another waits": {
			groups: groups(full(4), full(4)), tokens: 12, blocks: []string{"rhh", "mhh"}, want: 0, asked: 4},
		"fewer keys than tokens": {
			groups: groups(full(4), full(4)), tokens: 12, blocks: []string{"hhh", "h"}, want: 4, asked: 4},
		"a group without keys": {
			groups: groups(full(4), full(4)), tokens: 12, blocks: []string{"hhh", ""}, want: 0, asked: 3},
		"a wait beyond the agreed length is moot": {
			groups: groups(full(4), sliding(4, 1)), tokens: 12, blocks: []string{"hpp", "hmm"}, want: 4, asked: 3 + 3 + 1 + 1},
		"a wait within it is not": {
			groups: groups(full(4), sliding(4, 1)), tokens: 12, blocks: []string{"hph", "mhm"}, want: -1, asked: 3 + 2 + 2 + 1},
		"windows are asked again": {
			groups: groups(sliding(4, 2), sliding(4, 1)), tokens: 13, blocks: []string{"hhh", "hhm"}, want: 8, asked: 2 + 2 + 2 + 1},
		"the widest window first": {
			groups: groups(sliding(4, 1), sliding(4, 2)), tokens: 13, blocks: []string{"hhm", "hhh"}, want: 8, asked: 2 + 2 + 2 + 1},
		"full groups first": {
			groups: groups(sliding(4, 1), full(4)), tokens: 13, blocks: []string{"hhh", "hhm"}, want: 8, asked: 3 + 1},
	} {
		t.Run(name, func(t *testing.T) { c.run(t) })
	}
}

func TestS6_Speculative(t *testing.T) {
	for name, c := range map[string]hybridCase{
		"full gives up a block": {
			groups: groups(speculative(full(4))), tokens: 12, blocks: []string{"hhh"}, want: 8, asked: 3},
		"its only one": {
			groups: groups(speculative(full(4))), tokens: 12, blocks: []string{"hmm"}, want: 0, asked: 2},
		"the one before a pending run that is cut": {
			groups: groups(speculative(full(4))), tokens: 12, budget: 4, blocks: []string{"hhp"}, want: 4, asked: 3},
		"a window asks for one more": {
			groups: groups(full(4), speculative(sliding(4, 2))), tokens: 16, blocks: []string{"hhhm", "mhhh"}, want: 12, asked: 4 + 3},
		"and needs it": {
			groups: groups(full(4), speculative(sliding(4, 1))), tokens: 16, blocks: []string{"hhmm", "hhmm"}, want: 4, asked: 3 + 3},
		"once, though it is asked again": {
			groups: groups(speculative(sliding(4, 2)), speculative(sliding(4, 1))), tokens: 20,
			blocks: []string{"hhhhh", "hhhhh"}, want: 16, asked: 3 + 2},
		"anew when another group shrinks the length": {
			groups: groups(speculative(sliding(4, 2)), sliding(4, 1)), tokens: 20,
			blocks: []string{"hhhhh", "hhhmm"}, want: 12, asked: -1},
	} {
		t.Run(name, func(t *testing.T) { c.run(t) })
	}
}

func TestS6_StateGrid(t *testing.T) {
	for name, c := range map[string]hybridCase{
		"the tokens": {
			groups: groups(full(4)), grid: 8, tokens: 12, blocks: []string{"hhh"}, want: 8, asked: 2},
		"what was found": {
			groups: groups(full(4)), grid: 8, tokens: 16, blocks: []string{"hhhm"}, want: 8, asked: 4},
		"the keys": {
			groups: groups(full(4)), grid: 8, tokens: 17, blocks: []string{"hhh"}, want: 8, asked: 2},
		"to nothing": {
			groups: groups(full(4)), grid: 16, tokens: 15, blocks: []string{"hhh"}, want: 0, asked: 0},
		"one is no grid": {
			groups: groups(full(4)), grid: 1, tokens: 12, blocks: []string{"hhh"}, want: 12, asked: 3},
		// The window found ends at 12; at 8 the block before it is what counts.
		"a window cut off is looked for again": {
			groups: groups(sliding(4, 1)), grid: 8, tokens: 17, blocks: []string{"hmhm"}, want: 0, asked: -1},
		"and may be found": {
			groups: groups(sliding(4, 1)), grid: 8, tokens: 17, blocks: []string{"mhhm"}, want: 8, asked: 2 + 1},
	} {
		t.Run(name, func(t *testing.T) { c.run(t) })
	}
}

func TestS6_Reasons(t *testing.T) {
	c := hybridCase{groups: groups(full(4), full(4)), tokens: 12, asked: -1}
	for _, c.blocks = range [][]string{{"hrh", "hph"}, {"hph", "hrh"}, {"hrr", "hhr"}} {
		c.want = -1
		require.Equal(t, lookup.ReasonRetry, c.run(t).Reason, "Retry is not folded into Pending")
	}
	c.blocks, c.want = []string{"hph", "hhp"}, -1
	require.Equal(t, lookup.ReasonPending, c.run(t).Reason)
	c.blocks, c.want = []string{"hhh", "hhh"}, 12
	require.Equal(t, lookup.ReasonReady, c.run(t).Reason)
	c.blocks, c.want = []string{"hhh", "mmm"}, 0
	require.Equal(t, lookup.ReasonNotStored, c.run(t).Reason)
}

func TestS6_TheCutIsTheOneThatLimits(t *testing.T) {
	c := hybridCase{groups: groups(full(4), full(4)), tokens: 16, budget: 100, asked: -1}
	for name, s := range map[string]struct {
		blocks []string
		want   int
		cut    lookup.Run
	}{
		"all agree":           {[]string{"hhpp", "hhhh"}, 8, lookup.Run{First: 2, Blocks: 2, TokensPerBlock: 4, Tokens: 8}},
		"a miss before it":    {[]string{"hhpp", "hmhh"}, 4, lookup.Run{}},
		"a miss after it":     {[]string{"hhpp", "hhmm"}, 8, lookup.Run{First: 2, Blocks: 2, TokensPerBlock: 4, Tokens: 8}},
		"a second one":        {[]string{"hhpp", "hphh"}, 4, lookup.Run{Group: 1, First: 1, Blocks: 1, TokensPerBlock: 4, Tokens: 4}},
		"a list that is over": {[]string{"hhpp", "h"}, 4, lookup.Run{}},
		"to nothing":          {[]string{"phhh", "hhhh"}, 0, lookup.Run{Blocks: 4, TokensPerBlock: 4, Tokens: 16}},
		"then a miss":         {[]string{"hppp", "mhhh"}, 0, lookup.Run{}},
	} {
		c.blocks, c.want = s.blocks, s.want
		p := c.run(t)
		require.Equal(t, s.cut, p.Cut, name)
		switch {
		case s.cut != lookup.Run{}:
			require.Equal(t, lookup.ReasonBudget, p.Reason, name)
		case s.want > 0:
			require.Equal(t, lookup.ReasonReady, p.Reason, name)
		default:
			require.Equal(t, lookup.ReasonNotStored, p.Reason, name)
		}
	}
	c.blocks, c.want = []string{"hhpp", "hrhh"}, -1
	require.Zero(t, c.run(t).Cut, "a plan that waits has cut nothing")
}

func TestBlocks(t *testing.T) {
	s := scannerOf(t, lookup.Layout{Groups: groups(full(4), sliding(8, 2), speculative(sliding(4, 1)))})
	for _, c := range []struct{ group, computed, tokens, first, end int }{
		{0, 0, 12, 0, 3},
		{0, 0, 13, 0, 4},
		{0, 6, 6, 1, 3},
		{0, 8, 1, 2, 3},
		{1, 0, 40, 3, 5},
		{1, 0, 33, 3, 5},
		{1, 31, 2, 3, 5},
		{1, 32, 2, 4, 5}, // what was computed isn't loaded
		{2, 0, 12, 2, 3},
		{0, 0, 0, 0, 0},
		{0, 0, -4, 0, 0},
		{0, -4, 8, 0, 0},
		{-1, 0, 8, 0, 0},
		{3, 0, 8, 0, 0},
		{0, math.MaxInt, math.MaxInt, 0, 0},
		{0, lookup.MaxTokens, 1, 0, 0},
	} {
		first, end := s.Blocks(c.group, c.computed, c.tokens)
		require.Equal(t, [2]int{c.first, c.end}, [2]int{first, end}, "%+v", c)
	}
}
