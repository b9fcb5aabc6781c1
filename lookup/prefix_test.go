package lookup_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvoffload/kvoffload/lookup"
)

// prefix scans with every kind of source and wants the same from all.
func prefix(t *testing.T, script string, tokensPerBlock int, g lookup.Gate) lookup.Found {
	t.Helper()
	w := &world{blocks: [][]lookup.Result{results(script)}}
	ks := keysOf(0, len(w.blocks[0]))
	f := lookup.Prefix(w, ks, tokensPerBlock, g)
	require.Equal(t, w.asked, f.Asked)
	for _, stride := range []int{1 << 30, 3, 1, 0} {
		require.Equal(t, f, lookup.Prefix(placedWorld{world: w, t: t, stride: stride}, ks, tokensPerBlock, g))
	}
	return f
}

func cutAll(lookup.Run) bool { return true }

func TestS1_OnlyMissEndsThePrefix(t *testing.T) {
	for script, want := range map[string]lookup.Found{
		"":      {Reason: lookup.ReasonNotStored},
		"m":     {Reason: lookup.ReasonNotStored, Asked: 1},
		"mhh":   {Reason: lookup.ReasonNotStored, Asked: 1},
		"h":     {Blocks: 1, Reason: lookup.ReasonReady, Asked: 1},
		"hhhh":  {Blocks: 4, Reason: lookup.ReasonReady, Asked: 4},
		"hhmhh": {Blocks: 2, Reason: lookup.ReasonReady, Asked: 3},
		"rhprm": {Wait: true, Reason: lookup.ReasonRetry, Asked: 5},
		"phhhm": {Wait: true, Reason: lookup.ReasonPending, Asked: 5},
		"hhmpr": {Blocks: 2, Reason: lookup.ReasonReady, Asked: 3},
	} {
		require.Equal(t, want, prefix(t, script, 16, nil), script)
	}
}

func TestS2_RetryWaitsWhateverTheGate(t *testing.T) {
	for _, script := range []string{"r", "hr", "hrh", "pr", "rp", "hhprhm"} {
		f := prefix(t, script, 16, lookup.GateFunc(func(lookup.Run) bool {
			t.Fatal("a gate was asked although a block is Retry")
			return true
		}))
		require.True(t, f.Wait, script)
		require.Equal(t, lookup.ReasonRetry, f.Reason, script)
		require.Zero(t, f.Blocks, script)
	}
}

func TestS3_TheRunIsFromTheFirstPendingToTheEnd(t *testing.T) {
	for script, run := range map[string]lookup.Run{
		"p":        {First: 0, Blocks: 1, TokensPerBlock: 16, Tokens: 16},
		"hhp":      {First: 2, Blocks: 1, TokensPerBlock: 16, Tokens: 16},
		"hphhphm":  {First: 1, Blocks: 5, TokensPerBlock: 16, Tokens: 80},
		"hhphhhhh": {First: 2, Blocks: 6, TokensPerBlock: 16, Tokens: 96},
	} {
		var asked []lookup.Run
		w := &world{blocks: [][]lookup.Result{results(script)}}
		f := lookup.Prefix(w, keysOf(0, len(script)), 16, lookup.GateFunc(func(r lookup.Run) bool {
			asked = append(asked, r)
			return true
		}))
		require.Equal(t, []lookup.Run{run}, asked, script)
		require.Equal(t, run, f.Cut, script)
		require.Equal(t, run.First, f.Blocks, "the blocks before the first pending one")
		require.Equal(t, lookup.ReasonBudget, f.Reason)
		require.False(t, f.Wait)

		f = prefix(t, script, 16, lookup.GateFunc(nil))
		require.True(t, f.Wait, "a nil GateFunc waits")
		require.Equal(t, lookup.ReasonPending, f.Reason)
		require.Zero(t, f.Cut)
	}
}

func TestS4_BudgetInWholeBlocks(t *testing.T) {
	for _, c := range []struct {
		script string
		tokens int
		wait   bool
		blocks int
	}{
		{"hhp", 0, true, 0},
		{"hhp", 15, true, 0},
		{"hhp", 16, false, 2},
		{"hhpp", 31, true, 0},
		{"hhpp", 32, false, 2},
		{"hhphm", 31, true, 0},
		{"hhphm", 32, false, 2},
		{"p", 1 << 20, false, 0},
	} {
		f := prefix(t, c.script, 16, budget(c.tokens))
		require.Equal(t, c.wait, f.Wait, "%+v", c)
		require.Equal(t, c.blocks, f.Blocks, "%+v", c)
	}
}

func TestS8_PrefixSizesThatAreNone(t *testing.T) {
	require.Equal(t, lookup.Found{Reason: lookup.ReasonNotStored, Asked: 1}, lookup.Prefix(nil, keysOf(0, 3), 16, nil))
	require.Zero(t, lookup.Prefix(nil, nil, 16, nil).Blocks)
	for _, size := range []int{0, -1, math.MinInt} {
		f := prefix(t, "hp", size, lookup.GateFunc(cutAll))
		require.Equal(t, lookup.Run{First: 1, Blocks: 1}, f.Cut)
	}
	f := prefix(t, "hpp", math.MaxInt, lookup.GateFunc(cutAll))
	require.Equal(t, lookup.MaxTokens, f.Cut.Tokens, "no overflow")
	require.Equal(t, lookup.MaxTokens, f.Cut.TokensPerBlock)
	require.Zero(t, lookup.Prefix(lookup.SourceFunc(nil), keysOf(0, 3), 16, nil).Blocks)
}

func TestS8_EqualKeysAreAnsweredOneByOne(t *testing.T) {
	k := lookup.KeyFrom64(7, 0)
	asked := 0
	src := lookup.SourceFunc(func(lookup.Key) lookup.Result { asked++; return lookup.Hit })
	require.Equal(t, 3, lookup.Prefix(src, []lookup.Key{k, k, k}, 16, nil).Blocks)
	require.Equal(t, 3, asked)
	require.Equal(t, 3, lookup.Window(src, []lookup.Key{k, k, k}, 2).Blocks)
}

// A Source that counts badly costs no more than wrong lengths: never a panic, and
// never a block that isn't in the list.
func TestA5_SenselessLeadingHitsAreClamped(t *testing.T) {
	w := &world{blocks: [][]lookup.Result{results("hhm")}}
	for stride, blocks := range map[int]int{-5: 2, math.MinInt: 2, 4: 3, math.MaxInt: 3} {
		f := lookup.Prefix(placedWorld{world: w, t: t, stride: stride, lie: true}, keysOf(0, 3), 16, nil)
		require.Equal(t, blocks, f.Blocks, "answer %d", stride)
		require.Equal(t, 3, f.Asked)
	}
}

func TestA5_NoAnswerIsAMiss(t *testing.T) {
	require.Equal(t, lookup.Miss, lookup.Result(0), "the zero Result")
	for v := lookup.Results; v < 256; v++ {
		src := lookup.SourceFunc(func(lookup.Key) lookup.Result { return lookup.Result(v) })
		require.Equal(t, lookup.Found{Reason: lookup.ReasonNotStored, Asked: 1}, lookup.Prefix(src, keysOf(0, 2), 16, nil))
		require.Equal(t, lookup.Found{Reason: lookup.ReasonNotStored, Asked: 2}, lookup.Window(src, keysOf(0, 2), 1))
	}
	require.Equal(t, prefix(t, "hhm", 16, nil), prefix(t, "hh!", 16, nil))
	require.Equal(t, window(t, "h!pp", 2), window(t, "hmpp", 2))
	require.Equal(t, lookup.Recompute, lookup.Plan{}.Action, "the zero Plan")
}

// Where a Source counts hits, the scan must not ask for each of them.
func TestPrefixUsesLeadingHits(t *testing.T) {
	w := &world{blocks: [][]lookup.Result{results("hhhhhhhh p hhhhhhhh m")}}
	f := lookup.Prefix(placedWorld{world: w, t: t, stride: 100}, keysOf(0, 18), 16, nil)
	require.Equal(t, 18, f.Asked)
	// One by one: the pending block, the first hit after it, and the miss.
	require.Equal(t, 3, w.asked)
}

// countless never counts a hit, as a Source may that only wants to know places.
type countless struct {
	placedWorld
	calls *int
}

func (c countless) LeadingHits(lookup.At, []lookup.Key) int {
	*c.calls++
	return 0
}

// Where a Source doesn't count hits, the scan must not try for each of them.
func TestPrefixGivesUpOnLeadingHits(t *testing.T) {
	calls := 0
	w := &world{blocks: [][]lookup.Result{results("hhhhhhhh p hhhhhhhh m")}}
	f := lookup.Prefix(countless{placedWorld{world: w, t: t}, &calls}, keysOf(0, 18), 16, nil)
	require.Equal(t, 18, f.Asked)
	require.Equal(t, 1, calls)
}
