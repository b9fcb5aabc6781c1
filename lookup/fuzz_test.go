package lookup_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvoffload/kvoffload/lookup"
)

// FuzzScanner plans for whatever layout, query and answers come out of the bytes,
// valid or not. Answers are taken from the script in turn, so that the same block
// may be answered differently when it is asked for again.
func FuzzScanner(f *testing.F) {
	f.Add(uint64(1), 100, 0, 0, []byte("\x01\x01\x02"), 16)
	f.Add(uint64(2), 1000, 7, 900, []byte("\x01\x01\x01\x01\x03"), 0)
	f.Add(uint64(3), -1, -1, -1, []byte{}, -5)
	f.Add(uint64(4), 77, 5, 70, []byte{1}, math.MaxInt)
	f.Add(uint64(5), 300, 0, 0, []byte{1, 1, 1, 1, 1, 1, 2, 200, 0}, 64)
	f.Fuzz(func(t *testing.T, seed uint64, tokens, computed, prompt int, script []byte, budgetTokens int) {
		r := rand.New(rand.NewPCG(seed, 0))
		l := fuzzLayout(r)
		s, err := lookup.NewScanner(l)
		if err != nil {
			require.ErrorIs(t, err, lookup.ErrLayout)
			return
		}
		q := fuzzQuery(r, l, tokens, computed, prompt)
		src := &scripted{script: script, strides: r.IntN(2) == 0}
		p, err := s.Plan(&q, src, lookup.GateFunc(func(run lookup.Run) bool {
			require.Positive(t, run.TokensPerBlock)
			require.Positive(t, run.Tokens)
			return run.Tokens <= budgetTokens
		}))
		if err != nil {
			require.ErrorIs(t, err, lookup.ErrQuery)
			require.Zero(t, p)
			return
		}
		require.LessOrEqual(t, p.Tokens, max(0, q.Tokens-q.Computed))
		require.Equal(t, p.Action == lookup.Load, p.Tokens > 0)
		require.GreaterOrEqual(t, p.Tokens, 0)
		require.Equal(t, p.Action == lookup.Wait, p.Reason == lookup.ReasonPending || p.Reason == lookup.ReasonRetry)
		require.True(t, p.Action != lookup.Wait || src.unresolved, "waits for nothing")
		require.True(t, p.Action != lookup.Load || src.hit, "loads nothing")
		// Each round but the last shrinks the length.
		require.LessOrEqual(t, p.Asked, (q.Tokens+2)*(q.Tokens+2)*len(l.Groups)+1)
		if p.TailBoundary > 0 {
			require.Equal(t, p.Tokens, p.TailBoundary-q.Computed)
			require.GreaterOrEqual(t, s.TailIndex(p.TailBoundary), 0)
		}
	})
}

func fuzzLayout(r *rand.Rand) lookup.Layout {
	l := lookup.Layout{StateGrid: r.IntN(20) - 1, TokensPerHash: r.IntN(4) - 1}
	for range r.IntN(6) {
		g := lookup.Group{TokensPerBlock: max(l.TokensPerHash, 1) * r.IntN(9), Speculative: r.IntN(3) == 0}
		if r.IntN(2) == 0 {
			g.Kind, g.WindowBlocks = lookup.SlidingWindow, r.IntN(5)
		}
		l.Groups = append(l.Groups, g)
	}
	return l
}

func fuzzQuery(r *rand.Rand, l lookup.Layout, tokens, computed, prompt int) lookup.Query {
	if tokens > 0 {
		tokens %= 500
	}
	q := lookup.Query{Tokens: tokens, Computed: computed, PromptTokens: prompt}
	for g, group := range l.Groups {
		q.Keys = append(q.Keys, keysOf(g, r.IntN(max(tokens/group.TokensPerBlock, 0)+2)))
		if l.TokensPerHash > 0 {
			q.TailKeys = append(q.TailKeys, tailKeysOf(g, r.IntN(max(tokens/l.TokensPerHash, 0)+2)))
		}
	}
	return q
}

// scripted answers from a script, over and over.
type scripted struct {
	script          []byte
	next            int
	strides         bool
	hit, unresolved bool
}

func (s *scripted) answer() byte {
	if len(s.script) == 0 {
		return 0
	}
	b := s.script[s.next%len(s.script)]
	s.next++
	return b
}

func (s *scripted) Lookup(lookup.Key) lookup.Result {
	r := lookup.Result(s.answer())
	s.hit = s.hit || r == lookup.Hit
	s.unresolved = s.unresolved || r.Unresolved()
	return r
}

func (s *scripted) LookupAt(_ lookup.At, k *lookup.Key) lookup.Result { return s.Lookup(*k) }

func (s *scripted) LeadingHits(_ lookup.At, keys []lookup.Key) int {
	if !s.strides {
		return 0
	}
	n := int(int8(s.answer())) // senseless at times
	s.hit = s.hit || n > 0
	return n
}

// FuzzReference compares with the slow reference what random bytes make of it.
func FuzzReference(f *testing.F) {
	f.Add(uint64(1), uint64(1))
	f.Fuzz(func(t *testing.T, a, b uint64) {
		s := randomScan(rand.New(rand.NewPCG(a, b)))
		scanner := scannerOf(t, s.l)
		p, err := scanner.Plan(&s.q, s.w, budget(s.budget))
		require.NoError(t, err)
		requireSound(t, scanner, s, p)
		want := s.plan()
		require.Equal(t, want.Action, p.Action)
		require.Equal(t, want.Tokens, p.Tokens)
		require.Equal(t, want.TailBoundary, p.TailBoundary)
	})
}

func FuzzChain(f *testing.F) {
	f.Add([]byte("salt"), []byte("some tokens, four bytes each"), 2, 5)
	f.Add([]byte{}, []byte{}, 0, 0)
	f.Add([]byte{}, []byte("12345678"), 1, -1)
	f.Fuzz(func(t *testing.T, salt, raw []byte, per, split int) {
		if per > 1<<10 {
			per %= 1 << 10
		}
		c, err := lookup.NewChain(lookup.ChainOptions{TokensPerBlock: per, Salt: salt})
		if per <= 0 {
			require.ErrorIs(t, err, lookup.ErrChain)
			return
		}
		require.NoError(t, err)
		tokens := make([]uint32, len(raw)/4)
		for i := range tokens {
			tokens[i] = uint32(raw[4*i])<<24 | uint32(raw[4*i+1])<<16 | uint32(raw[4*i+2])<<8 | uint32(raw[4*i+3])
		}
		keys := c.Extend(tokens)
		require.Len(t, keys, len(tokens)/per)
		seen := map[lookup.Key]bool{}
		for _, k := range keys {
			require.False(t, seen[k], "two blocks with one key")
			seen[k] = true
		}
		again := chainOf(t, lookup.ChainOptions{TokensPerBlock: per, Salt: salt})
		split = min(max(split, 0), len(tokens))
		again.Extend(tokens[:split])
		again.Extend(tokens[split:])
		require.Equal(t, c.Keys(), again.Keys())
		other := chainOf(t, lookup.ChainOptions{TokensPerBlock: per, Salt: append([]byte{0}, salt...)})
		for _, k := range other.Extend(tokens) {
			require.False(t, seen[k], "another salt, the same key")
		}
	})
}

func FuzzKeyFromBytes(f *testing.F) {
	for _, n := range []int{0, 7, 8, 16, 31, 32, 33} {
		f.Add(make([]byte, n), uint32(n))
	}
	f.Fuzz(func(t *testing.T, hash []byte, group uint32) {
		k, err := lookup.KeyFromBytes(hash, group)
		switch len(hash) {
		case 8, 16, 32:
			require.NoError(t, err)
			require.Equal(t, hash, k.Hash[:len(hash)])
			require.Equal(t, make([]byte, 32-len(hash)), k.Hash[len(hash):])
			require.Equal(t, group, k.Group)
		default:
			require.ErrorIs(t, err, lookup.ErrHashSize)
			require.Zero(t, k)
		}
		_ = k.String()
	})
}
