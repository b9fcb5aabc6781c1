package lookup_test

import (
	"math/rand/v2"
	"sort"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvoffload/kvoffload/lookup"
)

// The reference says once more what the clauses say, slowly and from whole lists of
// answers, in the order in which the clauses say it. It shares no code with the
// scans.

type refAnswer struct {
	wait, retry bool
	n           int // blocks, tokens
	asked       int
}

// refPrefix is S1 to S4.
func refPrefix(rs []lookup.Result, perBlock, budget int) refAnswer {
	run := rs
	asked := len(rs)
	for i, r := range rs {
		if r == lookup.Miss {
			run, asked = rs[:i], i+1
			break
		}
	}
	first := len(run)
	for i := len(run) - 1; i >= 0; i-- {
		switch run[i] {
		case lookup.Retry:
			return refAnswer{wait: true, retry: true, asked: asked}
		case lookup.Pending:
			first = i
		}
	}
	if pending := len(run) - first; pending > 0 && (budget == 0 || pending > budget/perBlock) {
		return refAnswer{wait: true, asked: asked}
	}
	return refAnswer{n: first, asked: asked}
}

// refWindow is S5: it looks at every window, and at the leading run if there is none.
func refWindow(rs []lookup.Result, w int) refAnswer {
	there := func(r lookup.Result) bool { return r == lookup.Hit || r == lookup.Pending }
	all := func(from, to int, ok func(lookup.Result) bool) bool {
		for _, r := range rs[from:to] {
			if !ok(r) {
				return false
			}
		}
		return true
	}
	from, to := 0, 0
	for to < len(rs) && there(rs[to]) {
		to++ // the leading run
	}
	for end := len(rs); end >= w; end-- {
		if all(end-w, end, there) {
			from, to = end-w, end
			break
		}
	}
	a := refAnswer{n: to, asked: len(rs) - from}
	a.retry = !all(from, len(rs), func(r lookup.Result) bool { return r != lookup.Retry })
	a.wait = a.retry || !all(from, to, func(r lookup.Result) bool { return r != lookup.Pending })
	return a
}

type refScan struct {
	l      lookup.Layout
	q      lookup.Query
	w      *world
	budget int
}

// complete is S6.
func (s refScan) complete() refAnswer {
	var fulls, slides []int
	for g := range s.l.Groups {
		if s.l.Groups[g].Kind == lookup.FullAttention {
			fulls = append(fulls, g)
		} else {
			slides = append(slides, g)
		}
	}
	sort.SliceStable(slides, func(i, j int) bool {
		return s.l.Groups[slides[i]].WindowBlocks > s.l.Groups[slides[j]].WindowBlocks
	})
	grid := func(n int) int {
		if s.l.StateGrid > 0 {
			return n / s.l.StateGrid * s.l.StateGrid
		}
		return n
	}
	limit := s.q.Tokens
	if len(slides) > 0 && limit > 0 {
		limit--
	}
	limit = grid(limit)
	asked := 0
	gaveUp := map[int]bool{}
	everyone := append(append([]int{}, fulls...), slides...)
	for round := everyone; ; {
		waits, retries, slid, all, again := false, false, false, false, false
		for i, g := range round {
			group := s.l.Groups[g]
			per, rs := group.TokensPerBlock, s.w.blocks[g]
			before := limit
			limit = grid(min(limit, len(rs)*per))
			if limit-s.q.Computed < per {
				return refAnswer{asked: asked}
			}
			start, end := s.q.Computed/per, (limit+per-1)/per
			pop := group.Speculative && !gaveUp[g]
			var a refAnswer
			switch {
			case group.Kind == lookup.FullAttention:
				a = refPrefix(rs[start:end], per, s.budget)
			case pop:
				a = refWindow(rs[start:min(end+1, len(rs))], group.WindowBlocks+1)
			default:
				a = refWindow(rs[start:end], group.WindowBlocks)
			}
			asked += a.asked
			if a.wait {
				waits, retries = true, retries || a.retry
			} else {
				if pop {
					a.n--
					gaveUp[g] = true
				}
				if a.n <= 0 {
					return refAnswer{asked: asked}
				}
				limit = grid(min(limit, (start+a.n)*per))
				if limit-s.q.Computed < per {
					return refAnswer{asked: asked}
				}
				if group.Kind == lookup.SlidingWindow && limit <= (start+a.n-1)*per {
					again = true // the grid cut off blocks of the window
				}
			}
			if limit < before {
				if !group.Speculative {
					gaveUp = map[int]bool{}
				}
				first := i == 0 && len(round) == len(everyone)
				all = all || (!first && waits)
				again = again || (!first && slid)
			}
			slid = slid || group.Kind == lookup.SlidingWindow
		}
		switch {
		case all:
			round = everyone
		case again:
			round = slides
		case waits:
			return refAnswer{wait: true, retry: retries, asked: asked}
		default:
			return refAnswer{n: limit - s.q.Computed, asked: asked}
		}
	}
}

// tail is S7 for layouts without speculative groups: the boundary, or a wait.
func (s refScan) tail(complete int) refAnswer {
	end := s.q.Computed + complete
	prompt := s.q.PromptTokens
	if prompt == 0 {
		prompt = s.q.Tokens
	}
	smallest := s.l.Groups[0].TokensPerBlock
	for _, g := range s.l.Groups {
		smallest = min(smallest, g.TokensPerBlock)
	}
	highest, retry := 0, false
	for b := prompt - 1; b > end; b-- {
		if b%s.l.TokensPerHash != 0 || b >= end+smallest {
			continue
		}
		count := map[lookup.Result]int{}
		for g, group := range s.l.Groups {
			count[at(s.w.tails[g], b/s.l.TokensPerHash-1)]++
			// Computed tokens that end inside a block, nothing complete after them:
			// a block that ends between them and the tail's own is needed too.
			next := (s.q.Computed/group.TokensPerBlock + 1) * group.TokensPerBlock
			if complete == 0 && next < b && (group.Kind == lookup.FullAttention || group.WindowBlocks > 1) {
				count[at(s.w.blocks[g], next/group.TokensPerBlock-1)]++
			}
		}
		switch {
		case count[lookup.Miss] > 0:
		case count[lookup.Retry] > 0:
			retry = true
		case count[lookup.Pending] > 0:
			highest = max(highest, b)
		default:
			return refAnswer{n: b}
		}
	}
	wait := complete == 0 && (retry || (highest > 0 && (s.budget == 0 || highest-end > s.budget)))
	return refAnswer{wait: wait, retry: retry}
}

func at(rs []lookup.Result, i int) lookup.Result {
	if i >= len(rs) {
		return lookup.Miss
	}
	return rs[i]
}

func (s refScan) plan() lookup.Plan {
	reason := map[bool]lookup.Reason{true: lookup.ReasonRetry, false: lookup.ReasonPending}
	c := s.complete()
	if c.wait {
		return lookup.Plan{Action: lookup.Wait, Reason: reason[c.retry]}
	}
	p := lookup.Plan{Tokens: c.n}
	if s.q.TailKeys != nil {
		t := s.tail(c.n)
		if t.wait {
			return lookup.Plan{Action: lookup.Wait, Reason: reason[t.retry]}
		}
		if t.n > 0 {
			p.Tokens, p.TailBoundary = t.n-s.q.Computed, t.n
		}
	}
	if p.Tokens > 0 {
		p.Action = lookup.Load
	}
	return p
}

// randomScan makes a small layout, query and world.
func randomScan(r *rand.Rand) refScan {
	s := refScan{budget: []int{0, 0, 3, 8, 20, 1000}[r.IntN(6)]}
	unit := 1 + r.IntN(4)
	for range 1 + r.IntN(4) {
		g := lookup.Group{TokensPerBlock: unit << r.IntN(4), Speculative: r.IntN(4) == 0}
		if r.IntN(2) == 0 {
			g.Kind, g.WindowBlocks = lookup.SlidingWindow, 1+r.IntN(4)
		}
		s.l.Groups = append(s.l.Groups, g)
	}
	if r.IntN(4) == 0 {
		s.l.StateGrid = unit * (1 + r.IntN(12))
	}
	s.q.Tokens = r.IntN(unit * 40)
	if r.IntN(2) == 0 {
		s.q.Computed = r.IntN(s.q.Tokens + 3)
	}
	if r.IntN(3) == 0 {
		s.l.TokensPerHash = unit
		s.q.PromptTokens = r.IntN(s.q.Tokens + 1)
	}
	s.w = &world{}
	hits := 0.5 + r.Float64()/2
	for _, g := range s.l.Groups {
		s.w.blocks = append(s.w.blocks, randomResults(r, max(0, s.q.Tokens/g.TokensPerBlock-r.IntN(3)/2), hits))
		if g.Speculative {
			s.l.TokensPerHash = 0
		}
	}
	if s.l.TokensPerHash > 0 {
		for range s.l.Groups {
			s.w.tails = append(s.w.tails, randomResults(r, s.q.Tokens/s.l.TokensPerHash, hits))
		}
		s.q.TailKeys = s.w.tailKeys()
	}
	s.q.Keys = s.w.keys()
	return s
}

func TestScannerAgainstReference(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var actions [lookup.Actions]int
	tails := 0
	for range 60_000 {
		s := randomScan(r)
		want := s.plan()
		scanner := scannerOf(t, s.l)
		got, err := scanner.Plan(&s.q, s.w, budget(s.budget))
		require.NoError(t, err)
		requireSound(t, scanner, s, got)
		if s.q.TailKeys == nil {
			require.LessOrEqual(t, got.Asked, s.complete().asked, "%+v", s)
		}
		got.Asked, got.Cut = 0, lookup.Run{}
		if got.Action != lookup.Wait {
			got.Reason = 0
		}
		require.Equal(t, want, got, "%+v %+v", s.l, s)
		actions[got.Action]++
		if got.TailBoundary > 0 {
			tails++
		}
	}
	for a, n := range actions {
		require.Greater(t, n, 2000, "%v", lookup.Action(a))
	}
	require.Greater(t, tails, 500)
}

// requireSound checks what holds for every plan, whatever the answers were.
func requireSound(t testing.TB, s *lookup.Scanner, in refScan, p lookup.Plan) {
	t.Helper()
	require.GreaterOrEqual(t, p.Tokens, 0)
	require.LessOrEqual(t, p.Tokens, max(0, in.q.Tokens-in.q.Computed))
	require.Equal(t, p.Action == lookup.Load, p.Tokens > 0)
	require.True(t, p.Reason.Valid())
	require.Equal(t, p.Reason == lookup.ReasonBudget, p.Cut != lookup.Run{})
	if p.Action != lookup.Load {
		require.Zero(t, p.TailBoundary)
		return
	}
	tail := s.TailIndex(p.TailBoundary)
	for g, group := range in.l.Groups {
		first, end := s.Blocks(g, in.q.Computed, p.Tokens)
		if tail >= 0 {
			require.Equal(t, lookup.Hit, in.w.tails[g][tail], "group %d tail", g)
			// What the tail's group key names is not a block of Keys.
			end = (p.TailBoundary - 1) / group.TokensPerBlock
		}
		for i := first; i < end; i++ {
			require.Equal(t, lookup.Hit, in.w.blocks[g][i], "group %d block %d is loaded: %+v", g, i, p)
		}
	}
}
