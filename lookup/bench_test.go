package lookup_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvoffload/kvoffload/lookup"
)

// cheap is a Source that costs next to nothing: what is left is the scan.
type cheap struct{ answer lookup.Result }

func (c *cheap) Lookup(lookup.Key) lookup.Result { return c.answer }

// cheapPlaced has the methods of a PlacedSource too, and counts hits 64 at a time.
type cheapPlaced struct{ cheap }

func (c *cheapPlaced) LookupAt(lookup.At, *lookup.Key) lookup.Result { return c.answer }

func (c *cheapPlaced) LeadingHits(_ lookup.At, keys []lookup.Key) int {
	if c.answer != lookup.Hit {
		return 0
	}
	return min(64, len(keys))
}

func TestScansAllocateNothing(t *testing.T) {
	l := lookup.Layout{Groups: groups(full(16), sliding(16, 4), sliding(32, 1)), TokensPerHash: 8, StateGrid: 32}
	s := scannerOf(t, l)
	q := lookup.Query{
		Keys:     [][]lookup.Key{keysOf(0, 100), keysOf(1, 100), keysOf(2, 50)},
		TailKeys: [][]lookup.Key{tailKeysOf(0, 201), tailKeysOf(1, 201), tailKeysOf(2, 201)},
		Tokens:   1610,
	}
	ks := keysOf(0, 100)
	gate := budget(512)
	for _, answer := range []lookup.Result{lookup.Miss, lookup.Hit, lookup.Pending, lookup.Retry, 200} {
		for name, src := range map[string]lookup.Source{"plain": &cheap{answer}, "placed": &cheapPlaced{cheap{answer}}} {
			for scan, run := range map[string]func(){
				"Prefix": func() { lookup.Prefix(src, ks, 16, gate) },
				"Window": func() { lookup.Window(src, ks, 4) },
				"Tail": func() {
					lookup.Tail(src, lookup.TailQuery{Keys: q.TailKeys, TokensPerHash: 8, TokensPerBlock: 16, PromptTokens: 16}, gate)
				},
				"Plan": func() {
					q := q // nor must the caller's Query be allocated
					_, _ = s.Plan(&q, src, gate)
				},
				"Blocks": func() { s.Blocks(1, 0, 1600) },
			} {
				require.Zero(t, testing.AllocsPerRun(20, run), "%s of a %s source, all %v", scan, name, answer)
			}
		}
	}
}

func BenchmarkPrefixScan(b *testing.B) {
	for _, n := range []int{1000, 62_500, 1_000_000} {
		keys := keysOf(0, n)
		for _, of := range []struct {
			name string
			src  lookup.Source
		}{
			{"", &cheap{lookup.Hit}},
			{"/pending", &cheap{lookup.Pending}},
			{"/placed", &cheapPlaced{cheap{lookup.Hit}}},
		} {
			b.Run(fmt.Sprint(n, of.name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					lookup.Prefix(of.src, keys, 16, nil)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/block")
			})
		}
	}
}

func BenchmarkPlanHybrid(b *testing.B) {
	const blocks = 62_500
	s := scannerOf(b, lookup.Layout{Groups: groups(full(16), sliding(16, 64), sliding(64, 1))})
	q := lookup.Query{Keys: [][]lookup.Key{keysOf(0, blocks), keysOf(1, blocks), keysOf(2, blocks/4)}, Tokens: 16 * blocks}
	for name, src := range map[string]lookup.Source{"plain": &cheap{lookup.Hit}, "placed": &cheapPlaced{cheap{lookup.Hit}}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = s.Plan(&q, src, nil)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*blocks), "ns/block")
		})
	}
}
