package tiering_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"

	"github.com/kvoffload/kvoffload/lookup"
	"github.com/kvoffload/kvoffload/tiering"
)

var sizes = []int{1000, 62500, 1000000}

// benchKeys is the keys of a prompt of n blocks, hashed like real ones.
func benchKeys(n int) []lookup.Key {
	keys := make([]lookup.Key, n)
	var h lookup.Hash
	for i := range keys {
		x := uint64(i+1) * 0x9e3779b97f4a7c15
		for b := range h {
			x ^= x >> 29
			x *= 0xbf58476d1ce4e5b9
			h[b] = byte(x >> 56)
		}
		keys[i] = lookup.Key{Hash: h}
	}
	return keys
}

// filled is a Manager with n of the keys in its primary and room for spare more.
func filled(tb testing.TB, keys []lookup.Key, spare int) *tiering.Manager {
	m, err := tiering.New(tiering.Options{
		Layout:  lookup.Layout{Groups: []lookup.Group{{TokensPerBlock: perBlock}}},
		Primary: tiering.PrimaryOptions{Blocks: len(keys) + spare},
	})
	require.NoError(tb, err)
	r := m.Begin(tiering.RequestOptions{})
	j, err := r.Store(keys, nil)
	require.NoError(tb, err)
	require.NoError(tb, j.Finish(nil))
	r.End()
	return m
}

func perKey(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/block")
}

// BenchmarkMapFloor is what the others are compared with: looking the same keys up in
// a Go map.
func BenchmarkMapFloor(b *testing.B) {
	for _, n := range sizes {
		keys := benchKeys(n)
		m := make(map[lookup.Key]uint32, n)
		for i, k := range keys {
			m[k] = uint32(i)
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			var sum uint32
			for b.Loop() {
				for i := range keys {
					sum += m[keys[i]]
				}
			}
			_ = sum
			perKey(b, n)
		})
	}
}

// BenchmarkPlan/hit plans, claims and releases a prompt that is all there.
func BenchmarkPlan(b *testing.B) {
	for _, n := range sizes {
		keys := benchKeys(n)
		b.Run(fmt.Sprintf("hit/%d", n), func(b *testing.B) {
			m := filled(b, keys, 1)
			r := m.Begin(tiering.RequestOptions{})
			defer r.End()
			q := ask(keys...)
			b.ReportAllocs()
			for b.Loop() {
				p := r.Plan(q)
				if p.Action != lookup.Load {
					b.Fatal(p)
				}
				if err := p.Claim.Release(); err != nil {
					b.Fatal(err)
				}
			}
			perKey(b, n)
		})
	}
}

// BenchmarkPlanRatio is BenchmarkPlan/hit over BenchmarkMapFloor of the same n: both in
// turn in one process, and the median of the ratios, which is what holds on a machine
// whose speed drifts.
func BenchmarkPlanRatio(b *testing.B) {
	for _, n := range sizes {
		keys := benchKeys(n)
		b.Run(fmt.Sprintf("hit/%d", n), func(b *testing.B) {
			floor := make(map[lookup.Key]uint32, n)
			for i, k := range keys {
				floor[k] = uint32(i)
			}
			m := filled(b, keys, 1)
			r := m.Begin(tiering.RequestOptions{})
			defer r.End()
			q := ask(keys...)
			var ratios []float64
			var sum uint32
			for b.Loop() {
				start := time.Now()
				for i := range keys {
					sum += floor[keys[i]]
				}
				middle := time.Now()
				if err := r.Plan(q).Claim.Release(); err != nil {
					b.Fatal(err)
				}
				ratios = append(ratios, float64(time.Since(middle))/float64(middle.Sub(start)))
			}
			slices.Sort(ratios)
			b.ReportMetric(ratios[len(ratios)/2], "ratio")
			_ = sum
		})
	}
}

// BenchmarkReplan asks again about a prompt whose last 64 blocks, or last one, are
// pending: with nothing changed at all, and with something changed elsewhere.
func BenchmarkReplan(b *testing.B) {
	for _, n := range sizes {
		keys := benchKeys(n)
		waiting := func(b *testing.B, unresolved int) (*tiering.Manager, *tiering.Request) {
			m := filled(b, keys[:n-unresolved], unresolved+1)
			w := m.Begin(tiering.RequestOptions{})
			_, err := w.Store(keys[n-unresolved:], nil)
			require.NoError(b, err)
			r := m.Begin(tiering.RequestOptions{})
			require.Equal(b, lookup.Wait, r.Plan(ask(keys...)).Action)
			b.Cleanup(r.End)
			return m, r
		}
		b.Run(fmt.Sprintf("unchanged/%d", n), func(b *testing.B) {
			_, r := waiting(b, 64)
			b.ReportAllocs()
			for b.Loop() {
				if p := r.Replan(); p.Action != lookup.Wait {
					b.Fatal(p)
				}
			}
		})
		b.Run(fmt.Sprintf("64unresolved/%d", n), func(b *testing.B) {
			m, r := waiting(b, 64)
			b.ReportAllocs()
			for b.Loop() {
				tiering.Change(m)
				if p := r.Replan(); p.Action != lookup.Wait {
					b.Fatal(p)
				}
			}
		})
	}
}

// BenchmarkStore replaces the oldest 64 of n blocks, each time by a request of its own:
// reserve, evict, complete, and make newest at the end.
func BenchmarkStore(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("evict/%d", n), func(b *testing.B) {
			keys := benchKeys(n)
			m := filled(b, keys, 0)
			batch, ends := make([]lookup.Key, 64), make([]int, 64)
			for i := range ends {
				ends[i] = (i + 1) * perBlock
			}
			next := uint64(0)
			b.ReportAllocs()
			for b.Loop() {
				for i := range batch {
					next++
					batch[i] = lookup.KeyFrom64(next*0x9e3779b97f4a7c15, 0)
				}
				r := m.Begin(tiering.RequestOptions{})
				j, err := r.Store(batch, ends)
				if err != nil {
					b.Fatal(err)
				}
				if err := j.Finish(nil); err != nil {
					b.Fatal(err)
				}
				r.End()
			}
			perKey(b, len(batch))
		})
	}
}

func TestPlanReplanClaimAndReleaseAllocateNothing(t *testing.T) {
	keys := benchKeys(3000)
	mock := clock.NewMock()
	m, err := tiering.New(tiering.Options{
		Layout:  lookup.Layout{Groups: []lookup.Group{{TokensPerBlock: perBlock}}},
		Primary: tiering.PrimaryOptions{Blocks: 4000},
		Clock:   mock,
	})
	require.NoError(t, err)
	w := m.Begin(tiering.RequestOptions{})
	j, err := w.Store(keys[:2936], nil)
	require.NoError(t, err)
	require.NoError(t, j.Finish(nil))
	_, err = w.Store(keys[2936:], nil)
	require.NoError(t, err)

	r := m.Begin(tiering.RequestOptions{})
	hits := ask(keys[:2936]...)
	require.Zero(t, testing.AllocsPerRun(20, func() {
		p := r.Plan(hits)
		if p.Action != lookup.Load || p.Claim.Release() != nil {
			t.Fatal(p)
		}
	}), "Plan and Release")
	all := ask(keys...)
	require.Zero(t, testing.AllocsPerRun(20, func() {
		if p := r.Plan(all); p.Action != lookup.Wait {
			t.Fatal(p)
		}
	}), "Plan that waits")
	require.Zero(t, testing.AllocsPerRun(20, func() {
		if p := r.Replan(); p.Action != lookup.Wait {
			t.Fatal(p)
		}
	}), "Replan, nothing changed")
	require.Zero(t, testing.AllocsPerRun(20, func() {
		tiering.Change(m)
		if p := r.Replan(); p.Action != lookup.Wait {
			t.Fatal(p)
		}
	}), "Replan, something changed")
}
