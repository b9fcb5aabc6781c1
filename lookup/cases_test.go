package lookup_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvoffload/kvoffload/lookup"
)

// The numbers are those of the list of faults that users of other systems have
// reported.

// One or two pending blocks at the end of a long ready prefix must not park the
// request where recomputing them is cheap.
func TestCase2_PendingEndOfALongPrefix(t *testing.T) {
	w := &world{blocks: [][]lookup.Result{make([]lookup.Result, 1000)}}
	for i := range w.blocks[0] {
		w.blocks[0][i] = lookup.Hit
	}
	w.blocks[0][998], w.blocks[0][999] = lookup.Pending, lookup.Pending
	q := lookup.Query{Keys: w.keys(), Tokens: 16_000}
	l := lookup.Layout{Groups: groups(full(16))}
	p := planOf(t, l, q, w, budget(32))
	require.Equal(t, lookup.Load, p.Action)
	require.Equal(t, 998*16, p.Tokens)
	require.Equal(t, lookup.Run{First: 998, Blocks: 2, TokensPerBlock: 16, Tokens: 32}, p.Cut)
	require.Equal(t, lookup.Wait, planOf(t, l, q, w, budget(31)).Action)
}

// What a scan demands must not widen because a block it asked about is now Pending
// where it was Retry: it asks for the same keys or fewer.
func TestCase59_PendingInsteadOfRetryDemandsNoMore(t *testing.T) {
	for _, c := range []struct {
		retry, pending string
		window         int
	}{{"hhhhrh", "hhhhph", 2}, {"mmhrrm", "mmhppm", 2}, {"hhhrrr", "hhhppp", 3}, {"rrrr", "pppp", 2}} {
		require.LessOrEqual(t, window(t, c.pending, c.window).Asked, window(t, c.retry, c.window).Asked, "%+v", c)
		require.Equal(t, prefix(t, c.pending, 16, nil).Asked, prefix(t, c.retry, 16, nil).Asked, "%+v", c)
	}
}

func TestCase66_PendingMarkGoesWithItsRun(t *testing.T) {
	require.Equal(t, lookup.Found{Blocks: 2, Reason: lookup.ReasonReady, Asked: 4}, window(t, "hhmp", 2))
}

func TestCase67_PendingCountsInAWindowAndRetryDoesNot(t *testing.T) {
	f := window(t, "hhhph", 2)
	require.True(t, f.Wait)
	require.Equal(t, 2, f.Asked, "the window with the pending block is the one")
	require.Equal(t, 4, window(t, "hhhrh", 2).Asked, "the window is looked for before the Retry")
}

// A drafter's group asks for one block more than it will use, and only it does: it
// must not come to nothing for ever, nor shorten what other groups have.
func TestCase68_ADrafterOfOneStateIsServed(t *testing.T) {
	c := hybridCase{groups: groups(full(4), speculative(sliding(4, 1))), tokens: 17,
		blocks: []string{"hhhh", "mmhh"}, want: 12, asked: -1}
	c.run(t)
	c.groups[1] = sliding(4, 1)
	c.want = 16
	c.run(t)
}

// Giving up a block moves the length to where a small window kept nothing, unless
// the windows that end there were kept too. Then they are found.
func TestCase69_TheWindowBeforeTheBlockGivenUp(t *testing.T) {
	c := hybridCase{groups: groups(speculative(full(4)), sliding(4, 1)), tokens: 17, asked: -1}
	c.blocks, c.want = []string{"hhhh", "mmhh"}, 12
	c.run(t)
	c.blocks, c.want = []string{"hhhh", "mhmh"}, 8
	c.run(t)
	c.blocks, c.want = []string{"hhhh", "mmmh"}, 0
	c.run(t)
}

func TestCase91_SenselessLayoutsAreRefused(t *testing.T) {
	_, err := lookup.NewScanner(lookup.Layout{})
	require.ErrorIs(t, err, lookup.ErrLayout)
	require.EqualError(t, err, "lookup: invalid layout: Groups is empty")

	_, err = lookup.NewScanner(lookup.Layout{
		StateGrid: -1, TokensPerHash: 3,
		Groups: groups(full(0), full(-16), full(math.MaxInt32), full(16), sliding(3, 0), sliding(3, -1),
			lookup.Group{TokensPerBlock: 3, WindowBlocks: 2}, lookup.Group{TokensPerBlock: 3, Kind: 9}),
	})
	require.ErrorIs(t, err, lookup.ErrLayout)
	require.EqualError(t, err, `lookup: invalid layout: StateGrid is -1, want 0 to 536870911
Groups[0].TokensPerBlock is 0, want 1 to 536870911
Groups[1].TokensPerBlock is -16, want 1 to 536870911
Groups[2].TokensPerBlock is 2147483647, want 1 to 536870911
Groups[3].TokensPerBlock 16 is no multiple of TokensPerHash 3
Groups[4].WindowBlocks is 0, want 1 to 536870911
Groups[5].WindowBlocks is -1, want 1 to 536870911
Groups[6].WindowBlocks is 2 in a full-attention group, want 0
Groups[7].Kind is kind(9)`)

	_, err = lookup.NewScanner(lookup.Layout{Groups: make([]lookup.Group, lookup.MaxGroups+1), TokensPerHash: -1})
	require.ErrorContains(t, err, "65 Groups, at most 64")
	require.ErrorContains(t, err, "TokensPerHash is -1")
	require.NoError(t, lookup.Layout{Groups: groups(full(16), sliding(64, 3)), StateGrid: 64, TokensPerHash: 16}.Validate())
}
