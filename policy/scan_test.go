package policy_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/kvoffload/kvoffload/lookup"
	"github.com/kvoffload/kvoffload/policy"
)

// blockManager is a server's own: it says what it knows of a block.
type blockManager map[lookup.Key]lookup.Result

func (m blockManager) Lookup(k lookup.Key) lookup.Result { return m[k] }

// A server with a block manager of its own needs packages lookup and policy only.
// Block 2 of a prompt is on its way, and its write is lost.
func ExampleWaits() {
	const tokensPerBlock = 256
	keys := []lookup.Key{lookup.KeyFrom64(10, 0), lookup.KeyFrom64(11, 0), lookup.KeyFrom64(12, 0), lookup.KeyFrom64(13, 0)}
	blocks := blockManager{keys[0]: lookup.Hit, keys[1]: lookup.Hit, keys[2]: lookup.Pending, keys[3]: lookup.Pending}
	p := policy.Any(policy.Deadline{PerKey: 5 * time.Second}, policy.RecomputeBudget{MaxTokens: 300})

	var w policy.Waits // one for each request, from its arrival to its end
	defer w.Reset()

	plan := func(now time.Duration) {
		w.BeginScan(p, now, len(keys)*tokensPerBlock)
		found := lookup.Prefix(w.Source(blocks), keys, tokensPerBlock, w.Gate())
		if found.Wait {
			w.Deferred()
			until, _ := w.Until()
			fmt.Printf("%v: wait (%v), until %v at the latest\n", now, found.Reason, until)
			return
		}
		w.Commit(found.Cut)
		reason := found.Reason
		if found.Blocks < len(keys) {
			if why, given := w.GivenUp(&keys[found.Blocks]); given {
				reason = why
			}
		}
		fmt.Printf("%v: load %d blocks, compute the rest (%v)\n", now, found.Blocks, reason)
	}

	plan(1 * time.Second)
	plan(4 * time.Second)
	plan(6 * time.Second) // as Until has said
	blocks[keys[2]] = lookup.Hit
	plan(7 * time.Second) // a late hit is used
	w.Reset()             // the next request: what is left is within its budget
	plan(8 * time.Second)
	// Output:
	// 1s: wait (pending), until 6s at the latest
	// 4s: wait (pending), until 6s at the latest
	// 6s: load 2 blocks, compute the rest (key_deadline)
	// 7s: load 3 blocks, compute the rest (key_deadline)
	// 8s: load 3 blocks, compute the rest (budget)
}

func TestCase02_S3_TheBudgetCutsBeforeThePendingRun(t *testing.T) {
	keys := []lookup.Key{*key(0), *key(1), *key(2), *key(3)}
	blocks := blockManager{keys[0]: lookup.Hit, keys[1]: lookup.Hit, keys[2]: lookup.Pending, keys[3]: lookup.Hit}
	found := func(p policy.Policy) lookup.Found {
		var w policy.Waits
		w.BeginScan(p, 0, 64)
		f := lookup.Prefix(w.Source(blocks), keys, 16, w.Gate())
		f.Cut = lookup.Run{}
		return f
	}
	load := lookup.Found{Blocks: 2, Reason: lookup.ReasonBudget, Asked: 4}
	hold := lookup.Found{Wait: true, Reason: lookup.ReasonPending, Asked: 4}
	assert.Equal(t, hold, found(policy.RecomputeBudget{}))
	assert.Equal(t, hold, found(policy.RecomputeBudget{MaxTokens: 31}))
	assert.Equal(t, load, found(policy.RecomputeBudget{MaxTokens: 32}))
	assert.Equal(t, lookup.Found{Blocks: 2, Reason: lookup.ReasonReady, Asked: 3}, found(policy.Never{}), "given up: a miss")

	blocks[keys[3]] = lookup.Retry
	hold.Reason = lookup.ReasonRetry
	assert.Equal(t, hold, found(policy.RecomputeBudget{MaxTokens: 1 << 20}), "S2: Retry waits whatever the budget")
}

// placedSource answers for runs of hits, too many even.
type placedSource struct {
	blockManager
	tooMany int
}

func (p placedSource) LookupAt(at lookup.At, k *lookup.Key) lookup.Result {
	if at.Index == 0 {
		return lookup.Miss
	}
	return p.Lookup(*k)
}

func (p placedSource) LeadingHits(_ lookup.At, keys []lookup.Key) (n int) {
	for n < len(keys) && p.Lookup(keys[n]) == lookup.Hit {
		n++
	}
	return n + p.tooMany
}

func TestD1_SourceKeepsWhatThePlacedSourceCanDo(t *testing.T) {
	blocks := blockManager{*key(0): lookup.Hit, *key(1): lookup.Hit, *key(2): lookup.Pending}
	keys := []lookup.Key{*key(0), *key(1), *key(2)}
	var w policy.Waits
	w.BeginScan(bounds, 0, 64)
	w.Block(key(1), lookup.Pending, 0)
	w.Block(key(2), lookup.Pending, 0)

	w.BeginScan(bounds, 4*sec, 64)
	s := w.Source(placedSource{blockManager: blocks}).(lookup.PlacedSource)
	assert.Equal(t, 2, s.LeadingHits(lookup.At{}, keys))
	assert.Equal(t, lookup.Miss, s.LookupAt(lookup.At{}, key(0)), "the place is passed on")
	assert.Equal(t, lookup.Pending, s.LookupAt(lookup.At{Index: 2}, key(2)))
	assert.Equal(t, pending(0), w.Block(key(1), lookup.Pending, 0), "a hit among the leading ones restarts its clock")
	w.BeginScan(bounds, 5*sec, 64)
	assert.Equal(t, lookup.Miss, s.LookupAt(lookup.At{Index: 2}, key(2)))

	for _, tooMany := range []int{-9, 9} {
		s = w.Source(placedSource{blocks, tooMany}).(lookup.PlacedSource)
		n := s.LeadingHits(lookup.At{}, keys)
		assert.True(t, n >= 0 && n <= len(keys), "%d", n)
	}
	s = w.Source(blocks).(lookup.PlacedSource)
	assert.Zero(t, s.LeadingHits(lookup.At{}, keys))
	assert.Equal(t, lookup.Hit, s.LookupAt(lookup.At{}, key(0)))
	assert.Equal(t, lookup.Miss, w.Source(nil).Lookup(*key(0)))
}

// After every poll of a scan in which everything is unresolved: one pass, no
// allocation, whatever the scan.
func TestScanWithWaitsAllocatesNothing(t *testing.T) {
	keys := benchKeys(64)
	blocks := blockManager{}
	for _, k := range keys {
		blocks[k] = lookup.Pending
	}
	var src lookup.Source = blocks
	var w policy.Waits
	p := policy.Any(bounds, policy.RecomputeBudget{MaxTokens: 16})
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		w.BeginScan(p, 0, 1024)
		if lookup.Prefix(w.Source(src), keys, 16, w.Gate()).Wait {
			w.Deferred()
		}
		w.Reset()
	}))
}
