package lookup_test

import (
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvoffload/kvoffload/lookup"
)

var allHit = lookup.SourceFunc(func(lookup.Key) lookup.Result { return lookup.Hit })

func TestS8_EmptyQueriesHaveAnAnswer(t *testing.T) {
	l := lookup.Layout{Groups: groups(full(4), sliding(4, 2)), TokensPerHash: 2}
	s := scannerOf(t, l)
	for name, q := range map[string]lookup.Query{
		"no tokens":         {Keys: make([][]lookup.Key, 2)},
		"no keys":           {Keys: make([][]lookup.Key, 2), Tokens: 100},
		"empty tails":       {Keys: make([][]lookup.Key, 2), TailKeys: make([][]lookup.Key, 2), Tokens: 100},
		"all computed":      {Keys: [][]lookup.Key{keysOf(0, 2), keysOf(1, 2)}, Tokens: 8, Computed: 8},
		"computed past end": {Keys: [][]lookup.Key{keysOf(0, 2), keysOf(1, 2)}, Tokens: 8, Computed: 9},
		"far past the end": {
			Keys: [][]lookup.Key{keysOf(0, 2), keysOf(1, 2)}, TailKeys: [][]lookup.Key{tailKeysOf(0, 4), tailKeysOf(1, 4)},
			Tokens: 8, Computed: math.MaxInt,
		},
	} {
		p, err := s.Plan(&q, allHit, nil)
		require.NoError(t, err, name)
		require.Equal(t, lookup.Plan{}, p, name)
	}
}

func TestS8_AShortKeyListIsAllThatIsAskedFor(t *testing.T) {
	w := &world{blocks: [][]lookup.Result{results("hhh")}}
	p := planOf(t, lookup.Layout{Groups: groups(full(4))}, lookup.Query{Keys: w.keys(), Tokens: 100}, w, nil)
	require.Equal(t, lookup.Plan{Action: lookup.Load, Reason: lookup.ReasonReady, Tokens: 12, Asked: 3}, p)
}

func TestS8_InvalidQueries(t *testing.T) {
	l := lookup.Layout{Groups: groups(full(4), full(8)), TokensPerHash: 2}
	s := scannerOf(t, l)
	keys := func(a, b int) [][]lookup.Key { return [][]lookup.Key{keysOf(0, a), keysOf(1, b)} }
	for text, q := range map[string]lookup.Query{
		"Tokens is -1, want 0 to 536870911":                         {Keys: keys(0, 0), Tokens: -1},
		"Tokens is 536870912, want 0 to 536870911":                  {Keys: keys(0, 0), Tokens: lookup.MaxTokens + 1},
		"Computed is -1, want 0 or more":                            {Keys: keys(0, 0), Computed: -1},
		"PromptTokens is -1, want 0 to Tokens 0":                    {Keys: keys(0, 0), PromptTokens: -1},
		"PromptTokens is 9, want 0 to Tokens 8":                     {Keys: keys(0, 0), Tokens: 8, PromptTokens: 9},
		"Keys has 0 lists, the layout has 2 groups":                 {},
		"Keys has 3 lists, the layout has 2 groups":                 {Keys: make([][]lookup.Key, 3)},
		"TailKeys has 0 lists, the layout has 2 groups":             {Keys: keys(0, 0), TailKeys: [][]lookup.Key{}},
		"Keys[0] has 3 keys, 11 tokens hold 2 blocks of 4":          {Keys: keys(3, 0), Tokens: 11},
		"Keys[1] has 2 keys, 11 tokens hold 1 blocks of 8":          {Keys: keys(2, 2), Tokens: 11},
		"TailKeys[1] has 6 keys, 11 tokens hold 5 hashes of 2":      {Keys: keys(0, 0), TailKeys: keys(5, 6), Tokens: 11},
		"Tokens is -2147483648, want 0 to 536870911":                {Keys: keys(1, 1), TailKeys: keys(1, 1), Tokens: math.MinInt32},
		"Computed is -1, want 0 or more\nPromptTokens is 1, want 0": {Keys: keys(0, 0), Computed: -1, PromptTokens: 1},
	} {
		p, err := s.Plan(&q, allHit, nil)
		require.ErrorIs(t, err, lookup.ErrQuery, text)
		require.ErrorContains(t, err, text)
		require.Zero(t, p)
	}
	s = scannerOf(t, lookup.Layout{Groups: groups(full(4))})
	_, err := s.Plan(&lookup.Query{Keys: make([][]lookup.Key, 1), TailKeys: make([][]lookup.Key, 1)}, allHit, nil)
	require.ErrorContains(t, err, "TailKeys are given, the layout has no TokensPerHash")
}

func TestS8_NilArguments(t *testing.T) {
	s := scannerOf(t, lookup.Layout{Groups: groups(full(4))})
	q := lookup.Query{Keys: [][]lookup.Key{keysOf(0, 2)}, Tokens: 8}
	p, err := s.Plan(&q, nil, nil)
	require.ErrorIs(t, err, lookup.ErrSource)
	require.Zero(t, p)
	p, err = s.Plan(nil, allHit, nil)
	require.ErrorIs(t, err, lookup.ErrQuery)
	require.Zero(t, p)
	p, err = new(lookup.Scanner).Plan(&lookup.Query{Tokens: 8}, allHit, nil)
	require.ErrorIs(t, err, lookup.ErrLayout)
	require.Zero(t, p, "the zero Scanner must not load what no group was asked for")
}

func TestScannerIsACopy(t *testing.T) {
	l := lookup.Layout{Groups: groups(full(4)), TokensPerHash: 2}
	s := scannerOf(t, l)
	l.Groups[0].TokensPerBlock = 1
	got := s.Layout()
	require.Equal(t, 4, got.Groups[0].TokensPerBlock)
	got.Groups[0].TokensPerBlock = 2
	require.Equal(t, lookup.Layout{Groups: groups(full(4)), TokensPerHash: 2}, s.Layout())
}

func TestScannerIsForConcurrentUse(t *testing.T) {
	s := scannerOf(t, lookup.Layout{Groups: groups(full(4), sliding(4, 2), speculative(sliding(8, 1)))})
	q := lookup.Query{Keys: [][]lookup.Key{keysOf(0, 20), keysOf(1, 20), keysOf(2, 10)}, Tokens: 80}
	want, err := s.Plan(&q, allHit, nil)
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 200 {
				if got, err := s.Plan(&q, allHit, nil); err != nil || got != want {
					t.Errorf("got %+v, %v, want %+v", got, err, want)
				}
			}
		})
	}
	wg.Wait()
}
