package tiering_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvoffload/kvoffload/lookup"
	"github.com/kvoffload/kvoffload/policy"
	"github.com/kvoffload/kvoffload/tiering"
)

// Whatever happens between two questions, Replan answers as a scan from scratch of what
// is there now would, for every layout, and its claim has just those blocks.
func TestW2_ReplanEqualsAFreshScan(t *testing.T) {
	for seed := range uint64(300) {
		if !t.Run(fmt.Sprint(seed), func(t *testing.T) { replanAgainstScan(t, seed) }) {
			return
		}
	}
}

func replanAgainstScan(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 11))
	l := randomLayout(rng)
	budget := perBlock * rng.IntN(4)
	m := newRig(t, layout(l), blocks(6+rng.IntN(40)), with(policy.Any(policy.Always{}, policy.RecomputeBudget{MaxTokens: budget})), stalled(policy.NoLimit))
	scanner, err := lookup.NewScanner(l)
	require.NoError(t, err)
	gate := lookup.GateFunc(func(run lookup.Run) bool {
		if run.Tail {
			return run.Tokens <= budget
		}
		return run.Blocks <= budget/run.TokensPerBlock
	})

	q := lookup.Query{Tokens: perBlock*(1+rng.IntN(12)) + 1}
	for g, group := range l.Groups {
		var keys []lookup.Key
		for i := range q.Tokens / group.TokensPerBlock {
			keys = append(keys, lookup.KeyFrom64(uint64(i), uint32(g)))
		}
		q.Keys = append(q.Keys, keys)
	}
	q.Computed = rng.IntN(perBlock * 2)
	r := m.begin("r")
	writer := m.begin("writer")
	var jobs []*tiering.Job
	p := r.Plan(q)
	for range 60 {
		disturb(t, m, rng, writer, q, &jobs)
		want, err := scanner.Plan(&q, lookup.SourceFunc(r.Lookup), gate)
		require.NoError(t, err)
		if rng.IntN(5) == 0 {
			p = r.Plan(q)
		} else {
			p = r.Replan()
		}
		require.NoError(t, p.Err)
		require.Equal(t, want.Action.String(), p.Action.String(), "%+v\n%+v", want, p.Plan)
		require.Equal(t, want.Tokens, p.Tokens)
		if p.Action == lookup.Load {
			checkClaim(t, m, scanner, q, p)
			require.NoError(t, p.Claim.Release())
		}
		require.Zero(t, m.Stats().Claimed)
	}
}

func randomLayout(rng *rand.Rand) lookup.Layout {
	var l lookup.Layout
	for range 1 + rng.IntN(3) {
		g := lookup.Group{TokensPerBlock: perBlock << rng.IntN(2), Speculative: rng.IntN(5) == 0}
		if rng.IntN(2) == 0 {
			g.Kind, g.WindowBlocks = lookup.SlidingWindow, 1+rng.IntN(3)
		}
		l.Groups = append(l.Groups, g)
	}
	if rng.IntN(4) == 0 {
		l.StateGrid = 2 * perBlock
	}
	return l
}

// disturb stores, ends, fails and evicts some blocks.
func disturb(t *testing.T, m *rig, rng *rand.Rand, writer *tiering.Request, q lookup.Query, jobs *[]*tiering.Job) {
	for range rng.IntN(4) {
		switch rng.IntN(5) {
		case 0, 1:
			g := rng.IntN(len(q.Keys))
			if len(q.Keys[g]) == 0 {
				continue
			}
			from := rng.IntN(len(q.Keys[g]))
			end := min(len(q.Keys[g]), from+1+rng.IntN(6))
			if j, err := writer.Store(q.Keys[g][from:end], nil); err == nil && j.Len() > 0 {
				*jobs = append(*jobs, j)
			}
		case 2, 3:
			if n := len(*jobs); n > 0 {
				at := rng.IntN(n)
				var err error
				if rng.IntN(5) == 0 {
					err = errDisk
				}
				require.NoError(t, (*jobs)[at].Finish(err))
				*jobs = append((*jobs)[:at], (*jobs)[at+1:]...)
			}
		case 4: // room for something else
			if j, err := writer.Store(span(rng.IntN(1000), rng.IntN(1000)+1000)[:1+rng.IntN(3)], nil); err == nil {
				require.NoError(t, j.Finish(nil))
			}
		}
	}
}

func checkClaim(t *testing.T, m *rig, scanner *lookup.Scanner, q lookup.Query, p tiering.Plan) {
	at := make(map[lookup.Key]tiering.BlockID)
	for _, b := range m.AppendBlocks(nil) {
		if b.Result == lookup.Hit {
			at[b.Key] = b.Block
		}
	}
	claimed := make(map[tiering.BlockID]bool)
	for g := range q.Keys {
		first, end := scanner.Blocks(g, q.Computed, p.Tokens)
		from, ids := p.Claim.Group(g)
		require.Len(t, ids, end-first)
		for i, id := range ids {
			require.Equal(t, first, from)
			where, ok := at[q.Keys[g][from+i]]
			require.True(t, ok, "group %d block %d is loaded and not there", g, from+i)
			require.Equal(t, where, id)
			claimed[id] = true
		}
	}
	require.Equal(t, len(claimed), m.Stats().Claimed)
}

// Release may come from another goroutine while the request plans again.
func TestC2_ReleaseWhileThePlanIsMadeAgain(t *testing.T) {
	m := newRig(t)
	m.stored(span(0, 8)...)
	r := m.begin("r")
	for range 200 {
		p := r.Plan(ask(span(0, 8)...))
		done := make(chan error)
		go func() { done <- p.Claim.Release() }()
		next := r.Plan(ask(span(0, 8)...))
		err := <-done
		if err != nil {
			require.ErrorIs(t, err, tiering.ErrReleased)
		}
		require.NoError(t, next.Claim.Release())
		m.mustHaveNoClaims()
	}
}
