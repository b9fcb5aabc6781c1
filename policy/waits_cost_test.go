package policy_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/kvoffload/kvoffload/lookup"
	"github.com/kvoffload/kvoffload/policy"
)

func TestWaitsAllocatesNothingInSteadyState(t *testing.T) {
	var w policy.Waits
	keys := make([]lookup.Key, 64)
	for i := range keys {
		keys[i] = *key(uint64(i))
	}
	p := policy.Any(bounds, policy.RecomputeBudget{MaxTokens: 16})
	src := lookup.Source(lookup.SourceFunc(func(lookup.Key) lookup.Result { return lookup.Pending }))
	now := time.Duration(0)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		for range 4 {
			now += ms
			w.BeginScan(p, now, 1000)
			s, g := w.Source(src), w.Gate()
			for i := range keys {
				s.Lookup(keys[i])
			}
			g.Cut(blocks(64, 16))
			w.Deferred()
			w.Until()
		}
		w.Commit(blocks(1, 16))
		w.Hits(keys)
		w.Reset()
	}))
}

func TestResetGivesUpLargeMemory(t *testing.T) {
	var w policy.Waits
	fill := func(n int) {
		w.BeginScan(policy.Always{}, 0, 0)
		for i := range n {
			w.Block(key(uint64(i)), lookup.Pending, 0)
		}
	}
	fill(100_000)
	w.Reset()
	assert.NotZero(t, testing.AllocsPerRun(1, func() { fill(1); w.Reset(); fill(100_000); w.Reset() }))
	fill(1)
	assert.Equal(t, pending(0), w.Block(key(0), lookup.Pending, 0))
}

func BenchmarkWaitsReask64(b *testing.B) {
	for _, bench := range []struct {
		name string
		p    policy.Policy
	}{
		{"deadline", bounds},
		{"deadline and budget", policy.Any(bounds, policy.RecomputeBudget{MaxTokens: 512})},
		{"three", policy.Any(policy.Stalled{}, bounds, policy.RecomputeBudget{MaxTokens: 512})},
		{"linear", policy.Deadline{Base: 2 * sec, PerThousandTokens: 100 * ms}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			var w policy.Waits
			keys := benchKeys(64)
			b.ReportAllocs()
			for b.Loop() {
				w.BeginScan(bench.p, 0, 1000)
				for i := range keys {
					w.Block(&keys[i], lookup.Pending, 0)
				}
			}
		})
	}
}

// A long prefix of hits while one block is waited for.
func BenchmarkWaitsHits(b *testing.B) {
	var w policy.Waits
	keys := benchKeys(62_500)
	w.BeginScan(bounds, 0, 1000)
	for n := range 64 {
		w.Block(key(math.MaxUint64-uint64(n)), lookup.Pending, 0)
	}
	for b.Loop() {
		w.Hits(keys)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(keys)), "ns/block")
}

// What a bare map costs for the same, to compare with on a noisy machine.
func BenchmarkMapMisses(b *testing.B) {
	m := map[lookup.Key]uint32{}
	keys := benchKeys(62_500)
	for n := range 64 {
		m[*key(math.MaxUint64 - uint64(n))] = 1
	}
	found := 0
	for b.Loop() {
		for i := range keys {
			if _, ok := m[keys[i]]; ok {
				found++
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(keys)), "ns/block")
}

func BenchmarkMapReask64(b *testing.B) {
	m := map[lookup.Key]uint32{}
	keys := benchKeys(64)
	for i := range keys {
		m[keys[i]] = 1
	}
	found := uint32(0)
	for b.Loop() {
		for i := range keys {
			found += m[keys[i]]
		}
	}
}

func benchKeys(n int) []lookup.Key {
	keys := make([]lookup.Key, n)
	for i := range keys {
		k := lookup.KeyFrom64(uint64(i)*0x9e3779b97f4a7c15, 0)
		for j := 8; j < lookup.HashSize; j++ {
			k.Hash[j] = byte(i*j) ^ k.Hash[j-8]
		}
		keys[i] = k
	}
	return keys
}
