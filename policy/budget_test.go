package policy_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kvoffload/kvoffload/lookup"
	"github.com/kvoffload/kvoffload/policy"
)

func blocks(n, tokensPerBlock int) lookup.Run {
	return lookup.Run{Blocks: n, TokensPerBlock: tokensPerBlock, Tokens: n * tokensPerBlock}
}

func tail(tokens int) lookup.Run {
	return lookup.Run{Tail: true, TokensPerBlock: 16, Tokens: tokens}
}

func run(r lookup.Run) policy.Snapshot { return policy.Snapshot{Scope: policy.Run, Run: r} }

var (
	cut  = recompute(lookup.ReasonBudget)
	stay = wait(0)
)

func TestS4_RecomputeBudget(t *testing.T) {
	for _, tc := range []struct {
		name   string
		budget int
		run    lookup.Run
		want   policy.Decision
	}{
		{"zero always waits", 0, blocks(1, 16), stay},
		{"zero always waits, even for nothing", 0, blocks(0, 16), stay},
		{"less than a block always waits", 15, blocks(1, 16), stay},
		{"one block", 16, blocks(1, 16), cut},
		{"two blocks, one in the budget", 16, blocks(2, 16), stay},
		{"rounded down", 31, blocks(2, 16), stay},
		{"exactly", 32, blocks(2, 16), cut},
		{"no tokens per block", 32, lookup.Run{Blocks: 1}, stay},
		{"everything", math.MaxInt, blocks(1<<20, 16), cut},
		{"negative, which Validate refuses, waits", -1, blocks(1, 16), stay},
	} {
		t.Run(tc.name, func(t *testing.T) {
			assert.Equal(t, tc.want, policy.RecomputeBudget{MaxTokens: tc.budget}.Decide(run(tc.run)))
		})
	}
}

func TestS7_RecomputeBudgetCountsATailInTokens(t *testing.T) {
	for _, tc := range []struct {
		name   string
		budget int
		run    lookup.Run
		want   policy.Decision
	}{
		{"zero never", 0, tail(4), stay},
		{"zero never, even for nothing", 0, tail(0), stay},
		{"more than the budget", 3, tail(4), stay},
		{"less than a block is no hindrance", 4, tail(4), cut},
		{"all of a block but one", 15, tail(15), cut},
	} {
		t.Run(tc.name, func(t *testing.T) {
			assert.Equal(t, tc.want, policy.RecomputeBudget{MaxTokens: tc.budget}.Decide(run(tc.run)))
		})
	}
}

// A budget is never asked about Retry alone: it has no opinion on blocks.
func TestS2_BudgetNeverEndsARetry(t *testing.T) {
	b := policy.RecomputeBudget{MaxTokens: math.MaxInt}
	for _, r := range []lookup.Result{lookup.Pending, lookup.Retry} {
		s := block(r, 1e18, 1e18)
		s.Run = blocks(1, 16)
		assert.Equal(t, stay, b.Decide(s))
	}
}

func TestS4_BudgetGrace(t *testing.T) {
	b := policy.RecomputeBudget{MaxTokens: 32, Grace: 200 * ms}
	s := run(blocks(2, 16))
	assert.Equal(t, wait(200*ms), b.Decide(s), "not deferred yet")
	s.RequestAge = 150 * ms
	assert.Equal(t, wait(50*ms), b.Decide(s))
	s.RequestAge = 200 * ms
	assert.Equal(t, cut, b.Decide(s))
	s.RequestAge = -1
	assert.Equal(t, wait(200*ms), b.Decide(s), "senseless age")
	s.Run = blocks(3, 16)
	assert.Equal(t, stay, b.Decide(s), "grace changes nothing for a run that is too long")
}

func TestS4_BudgetRate(t *testing.T) {
	rate, err := policy.NewRate(1000, 500)
	require.NoError(t, err)
	b := policy.RecomputeBudget{MaxTokens: 400, Rate: rate}
	s := run(blocks(4, 100))

	for range 3 {
		assert.Equal(t, cut, b.Decide(s), "deciding takes nothing")
	}
	b.Commit(s)
	assert.Equal(t, wait(300*ms), b.Decide(s), "100 are left")

	more := s
	more.Charged = 300
	assert.Equal(t, cut, b.Decide(more), "only what comes on top is needed")
	b.Commit(more)
	assert.Equal(t, wait(400*ms), b.Decide(s))

	s.Now = 250 * ms
	assert.Equal(t, wait(150*ms), b.Decide(s))
	s.Now = 400 * ms
	assert.Equal(t, cut, b.Decide(s))

	t.Run("grace and rate", func(t *testing.T) {
		g := policy.RecomputeBudget{MaxTokens: 400, Rate: rate, Grace: sec}
		s.Now = 250 * ms
		assert.Equal(t, wait(1*sec), g.Decide(s), "the later of the two")
		s.RequestAge = 950 * ms
		assert.Equal(t, wait(150*ms), g.Decide(s))
		s.RequestAge = 0
		g.Commit(s)
		s.Now = 400 * ms
		assert.Equal(t, cut, b.Decide(s), "a cut during the grace was not this budget's")
	})
	t.Run("not this budget's cut", func(t *testing.T) {
		long := run(blocks(5, 100))
		long.Now = 400 * ms
		b.Commit(long)
		b.Commit(policy.Snapshot{Now: 400 * ms, Run: blocks(4, 100)})
		assert.Equal(t, cut, b.Decide(s))
	})
	t.Run("without a rate", func(t *testing.T) {
		assert.NotPanics(t, func() { policy.RecomputeBudget{MaxTokens: 400}.Commit(s) })
	})
}

func TestS4_BudgetSurvivesSenselessRuns(t *testing.T) {
	rate, err := policy.NewRate(1, 1)
	require.NoError(t, err)
	b := policy.RecomputeBudget{MaxTokens: math.MaxInt, Rate: rate}
	for _, n := range []int{math.MinInt, -1, 0, 1, math.MaxInt} {
		s := policy.Snapshot{Scope: policy.Run, Charged: -n, Now: math.MaxInt64, Run: lookup.Run{Tail: true, Tokens: n}}
		for range 20 {
			b.Commit(s)
			s.Charged = -s.Charged
			d := b.Decide(s)
			assert.Equal(t, policy.Check(d), d)
		}
	}
	zero := policy.RecomputeBudget{MaxTokens: 1, Rate: new(policy.Rate)}
	assert.NotPanics(t, func() { zero.Commit(run(tail(1))); zero.Decide(run(tail(1))) })
}
