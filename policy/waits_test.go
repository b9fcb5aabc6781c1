package policy_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kvoffload/kvoffload/lookup"
	"github.com/kvoffload/kvoffload/policy"
)

func key(n uint64) *lookup.Key {
	k := lookup.KeyFrom64(n, 0)
	return &k
}

// What a block can be at the end of a scan, for comparison with Block's outcome.
func ready() policy.Outcome { return policy.Outcome{Result: lookup.Hit, Reason: lookup.ReasonReady} }
func absent() policy.Outcome {
	return policy.Outcome{Result: lookup.Miss, Reason: lookup.ReasonNotStored}
}
func pending(age time.Duration) policy.Outcome {
	return policy.Outcome{Result: lookup.Pending, Reason: lookup.ReasonPending, Age: age}
}
func retry(age time.Duration) policy.Outcome {
	return policy.Outcome{Result: lookup.Retry, Reason: lookup.ReasonRetry, Age: age}
}
func gaveUp(r lookup.Reason, age time.Duration) policy.Outcome {
	return policy.Outcome{Result: lookup.Miss, GaveUp: true, Reason: r, Age: age}
}
func givenUp(r lookup.Reason) policy.Outcome {
	return policy.Outcome{Result: lookup.Miss, Reason: r}
}

var bounds = policy.Deadline{PerKey: 5 * sec, PerRetry: 5 * sec, PerRequest: 10 * sec}

// scan is a scan of one block.
func scan(w *policy.Waits, now time.Duration, n uint64, r lookup.Result) policy.Outcome {
	w.BeginScan(bounds, now, 1000)
	o := w.Block(key(n), r, 0)
	if o.Result.Unresolved() {
		w.Deferred()
	}
	return o
}

func TestCase01_WriteThatNeverFinishes(t *testing.T) {
	var w policy.Waits
	gave := 0
	for now := time.Duration(0); now < 300*sec; now += 20 * ms {
		o := scan(&w, now, 1, lookup.Pending)
		require.Equal(t, now < 5*sec, o.Result == lookup.Pending, "at %v", now)
		if o.GaveUp {
			gave++
			assert.Equal(t, gaveUp(lookup.ReasonKeyDeadline, 5*sec), o)
		}
	}
	assert.Equal(t, 1, gave, "counted once")
}

func TestCase03_FailedPromotionDoesNotRestartTheClock(t *testing.T) {
	var w policy.Waits
	promotions := 0
	for attempt := range 20 {
		start := time.Duration(attempt) * 3 * sec
		o := scan(&w, start, 1, lookup.Miss)
		require.Equal(t, lookup.Miss, o.Result, "the last promotion failed")
		if _, given := w.GivenUp(key(1)); given {
			continue
		}
		promotions++
		for _, after := range []time.Duration{0, 1 * sec, 2 * sec, 3*sec - 1} {
			o := scan(&w, start+after, 1, lookup.Pending)
			require.Equal(t, start+after < 5*sec, o.Result == lookup.Pending, "at %v", start+after)
		}
	}
	assert.Equal(t, 2, promotions, "at 0 s and at 3 s")
	reason, given := w.GivenUp(key(1))
	assert.True(t, given)
	assert.Equal(t, lookup.ReasonKeyDeadline, reason)
}

func TestCase05_HitAfterExpiryIsAHit(t *testing.T) {
	var w policy.Waits
	scan(&w, 0, 1, lookup.Pending)
	assert.Equal(t, gaveUp(lookup.ReasonKeyDeadline, 5*sec), scan(&w, 5*sec, 1, lookup.Pending))
	assert.Equal(t, ready(), scan(&w, 5*sec+1, 1, lookup.Hit))
}

func TestCase06_NothingButAHitExtendsARetry(t *testing.T) {
	var w policy.Waits
	for i := range 50 { // repeated polls, and more keys each time
		w.BeginScan(bounds, time.Duration(i)*100*ms, 1000)
		require.Equal(t, retry(time.Duration(i)*100*ms), w.Block(key(1), lookup.Retry, 0))
		require.Equal(t, retry(0), w.Block(key(uint64(100+i)), lookup.Retry, 0))
	}
	assert.Equal(t, gaveUp(lookup.ReasonRetryDeadline, 5*sec), scan(&w, 5*sec, 1, lookup.Retry))
}

func TestCase08_EveryPollAfterTheTimeoutIsAMiss(t *testing.T) {
	var w policy.Waits
	scan(&w, 0, 1, lookup.Retry)
	scan(&w, 5*sec, 1, lookup.Retry)
	for i := range 10 {
		for _, r := range []lookup.Result{lookup.Retry, lookup.Pending, lookup.Miss} {
			assert.Equal(t, givenUp(lookup.ReasonRetryDeadline), scan(&w, 5*sec+time.Duration(i)*sec, 1, r))
		}
	}
}

func TestD1_OneClockForPendingAndRetry(t *testing.T) {
	var w policy.Waits
	assert.Equal(t, retry(0), scan(&w, 0, 1, lookup.Retry))
	assert.Equal(t, pending(3*sec), scan(&w, 3*sec, 1, lookup.Pending))
	assert.Equal(t, gaveUp(lookup.ReasonKeyDeadline, 5*sec), scan(&w, 5*sec, 1, lookup.Pending))
}

func TestD1_OnlyHitRestartsAKeysClock(t *testing.T) {
	var w policy.Waits
	for _, step := range []struct {
		now  time.Duration
		r    lookup.Result
		want policy.Outcome
	}{
		{0, lookup.Miss, absent()},
		{1 * sec, lookup.Pending, pending(0)},
		{2 * sec, lookup.Miss, absent()},
		{3 * sec, lookup.Pending, pending(2 * sec)},
		{3 * sec, lookup.Results, absent()}, // no answer of the four
		{4 * sec, lookup.Pending, pending(3 * sec)},
		{5 * sec, lookup.Hit, ready()},
		{5 * sec, lookup.Miss, absent()},
		{5 * sec, lookup.Pending, pending(0)},
		{9 * sec, lookup.Pending, pending(4 * sec)},
	} {
		assert.Equal(t, step.want, scan(&w, step.now, 1, step.r), "at %v", step.now)
	}
}

func TestD1_HitsRestartTheClocksOfARun(t *testing.T) {
	var w policy.Waits
	w.BeginScan(bounds, 0, 1000)
	for n := range uint64(4) {
		w.Block(key(n), lookup.Pending, 0)
	}
	w.BeginScan(bounds, 3*sec, 1000)
	w.Hits([]lookup.Key{*key(0), *key(9), *key(2)})
	assert.Equal(t, pending(0), w.Block(key(0), lookup.Pending, 0))
	assert.Equal(t, pending(3*sec), w.Block(key(1), lookup.Pending, 0))
	assert.Equal(t, pending(0), w.Block(key(2), lookup.Pending, 0))
	assert.Equal(t, pending(3*sec), w.Block(key(3), lookup.Pending, 0))
}

func TestD1_KeysHaveClocksOfTheirOwn(t *testing.T) {
	var w policy.Waits
	scan(&w, 0, 1, lookup.Pending)
	scan(&w, 4*sec, 2, lookup.Pending)
	other := lookup.KeyFrom64(1, 1) // the same hash in another group
	w.BeginScan(bounds, 5*sec, 1000)
	assert.Equal(t, lookup.Miss, w.Block(key(1), lookup.Pending, 0).Result)
	assert.Equal(t, pending(1*sec), w.Block(key(2), lookup.Pending, 0))
	assert.Equal(t, pending(0), w.Block(&other, lookup.Pending, 0))
}

func TestD1_AClockThatGoesBackExtendsNothing(t *testing.T) {
	var w policy.Waits
	scan(&w, 10*sec, 1, lookup.Pending)
	assert.Equal(t, pending(0), scan(&w, 0, 1, lookup.Pending))
	assert.Equal(t, pending(4*sec), scan(&w, 14*sec, 1, lookup.Pending))
	assert.Equal(t, pending(4*sec), scan(&w, -1, 1, lookup.Pending))
	assert.Equal(t, pending(0), scan(&w, 1*sec, 2, lookup.Pending), "anchored at the latest time seen")
	assert.Equal(t, 4*sec, w.RequestAge(0))
	assert.Equal(t, gaveUp(lookup.ReasonKeyDeadline, 5*sec), scan(&w, 15*sec, 1, lookup.Pending))
	assert.Equal(t, pending(1*sec), scan(&w, 15*sec, 2, lookup.Pending))
}

func TestD1_FirstDeferralIsTheRequestsClock(t *testing.T) {
	var w policy.Waits
	assert.Zero(t, w.RequestAge(time.Hour))
	w.BeginScan(bounds, 1*sec, 1000)
	w.Block(key(1), lookup.Pending, 0)
	assert.Zero(t, w.RequestAge(2*sec), "seen, not deferred")
	w.Deferred()
	for _, now := range []time.Duration{2 * sec, 3 * sec} {
		scan(&w, now, 1, lookup.Hit)
		w.Deferred()
	}
	assert.Equal(t, 2*sec, w.RequestAge(3*sec))
	assert.Equal(t, 9*sec, w.RequestAge(10*sec))
}

func TestD2_GivenUpUntilTheEnd(t *testing.T) {
	var w policy.Waits
	scan(&w, 0, 1, lookup.Pending)
	_, given := w.GivenUp(key(1))
	assert.False(t, given)
	scan(&w, 5*sec, 1, lookup.Pending)
	for _, step := range []struct {
		r    lookup.Result
		want policy.Outcome
	}{
		{lookup.Pending, givenUp(lookup.ReasonKeyDeadline)},
		{lookup.Hit, ready()},
		{lookup.Pending, givenUp(lookup.ReasonKeyDeadline)},
		{lookup.Miss, givenUp(lookup.ReasonKeyDeadline)},
		{lookup.Retry, givenUp(lookup.ReasonKeyDeadline)},
	} {
		assert.Equal(t, step.want, scan(&w, 6*sec, 1, step.r))
		_, given = w.GivenUp(key(1))
		assert.True(t, given)
	}
	w.Reset()
	_, given = w.GivenUp(key(1))
	assert.False(t, given)
	assert.Equal(t, pending(0), scan(&w, 6*sec, 1, lookup.Pending))
}

func TestD3_PastTheRequestsBoundEverythingUnresolvedIsMiss(t *testing.T) {
	var w policy.Waits
	for i := range 4 { // a different key every 3 s
		require.True(t, scan(&w, time.Duration(i)*3*sec, uint64(i), lookup.Retry).Result.Unresolved())
	}
	w.BeginScan(bounds, 10*sec, 1000)
	assert.Equal(t, gaveUp(lookup.ReasonRequestDeadline, 1*sec), w.Block(key(3), lookup.Pending, 0))
	assert.Equal(t, gaveUp(lookup.ReasonRequestDeadline, 0), w.Block(key(4), lookup.Retry, 0), "never seen before")
	assert.Equal(t, ready(), w.Block(key(5), lookup.Hit, 0))
	_, ok := w.Until()
	assert.False(t, ok)
}

func TestD5_LaterRequestsDoNotPayForAStalledWrite(t *testing.T) {
	p := policy.Any(policy.Stalled{After: 30 * sec}, bounds)
	var early, late policy.Waits
	early.BeginScan(p, 29*sec, 1000)
	assert.Equal(t, pending(0), early.Block(key(1), lookup.Pending, 29*sec))
	early.BeginScan(p, 31*sec, 1000)
	assert.Equal(t, pending(2*sec), early.Block(key(1), lookup.Pending, 31*sec))
	late.BeginScan(p, 31*sec, 1000)
	assert.Equal(t, gaveUp(lookup.ReasonStalled, 0), late.Block(key(1), lookup.Pending, 31*sec))
	assert.Equal(t, ready(), late.Block(key(1), lookup.Hit, 0), "D4: a late result is used")
}

func TestD6_ANilPolicyIsTheDefaultDeadline(t *testing.T) {
	var w policy.Waits
	assert.Equal(t, pending(0), w.Block(key(1), lookup.Pending, 0), "even before BeginScan")
	assert.Equal(t, policy.Wait, w.Run(blocks(1, 16)).Verdict)
	w.BeginScan(nil, policy.DefaultPerKey, 1000)
	assert.Equal(t, gaveUp(lookup.ReasonKeyDeadline, policy.DefaultPerKey), w.Block(key(1), lookup.Pending, 0))
}

func TestUntil(t *testing.T) {
	until := func(w *policy.Waits) time.Duration {
		d, ok := w.Until()
		require.True(t, ok)
		return d
	}
	var w policy.Waits
	_, ok := w.Until()
	assert.False(t, ok)
	w.BeginScan(bounds, 1*sec, 1000)
	w.Block(key(1), lookup.Pending, 0)
	assert.Equal(t, 6*sec, until(&w))
	w.Deferred()
	w.BeginScan(bounds, 2*sec, 1000)
	_, ok = w.Until()
	assert.False(t, ok, "of the decisions since BeginScan")
	w.Block(key(2), lookup.Pending, 0)
	assert.Equal(t, 7*sec, until(&w))
	w.Block(key(1), lookup.Pending, 0)
	w.Block(key(3), lookup.Pending, 0)
	assert.Equal(t, 6*sec, until(&w), "the earliest")
	w.Block(key(1), lookup.Hit, 0)
	assert.Equal(t, 6*sec, until(&w), "may be early")

	t.Run("at which the answer changes", func(t *testing.T) {
		w.BeginScan(bounds, until(&w), 1000)
		assert.True(t, w.Block(key(1), lookup.Pending, 0).Result.Unresolved(), "was a hit in between")
		w.BeginScan(bounds, until(&w), 1000)
		assert.True(t, w.Block(key(1), lookup.Pending, 0).GaveUp)
	})
	t.Run("runs count too", func(t *testing.T) {
		w.Reset()
		w.BeginScan(policy.RecomputeBudget{MaxTokens: 32, Grace: sec}, 5*sec, 1000)
		assert.Equal(t, wait(sec), w.Run(blocks(2, 16)))
		assert.Equal(t, 6*sec, until(&w))
	})
	t.Run("no overflow", func(t *testing.T) {
		w.BeginScan(fixed(wait(math.MaxInt64)), math.MaxInt64-1, 1000)
		w.Block(key(9), lookup.Pending, 0)
		assert.Equal(t, time.Duration(math.MaxInt64), until(&w))
	})
}

func TestS3_RunsAreAskedWithTheRequestsState(t *testing.T) {
	var got policy.Snapshot
	p := policy.Func(func(s policy.Snapshot) policy.Decision {
		got = s
		return policy.Decision{Reason: lookup.ReasonNotStored, After: 9}
	})
	var w policy.Waits
	w.BeginScan(nil, 1*sec, 7)
	w.Deferred()
	w.BeginScan(p, 3*sec, 1234)
	assert.Equal(t, recompute(lookup.ReasonPolicy), w.Run(blocks(2, 16)), "a senseless answer is made sense of")
	assert.Equal(t, policy.Snapshot{
		Now: 3 * sec, Scope: policy.Run, Tokens: 1234, RequestAge: 2 * sec, Run: blocks(2, 16),
	}, got)
	w.Block(key(1), lookup.Retry, -5)
	assert.Equal(t, policy.Snapshot{Now: 3 * sec, Tokens: 1234, RequestAge: 2 * sec, Result: lookup.Retry}, got)
	_, ok := w.Until()
	assert.False(t, ok)
	assert.True(t, w.Gate().Cut(blocks(1, 1)))
}

func TestS4_CommitChargesARequestOnce(t *testing.T) {
	var told []policy.Snapshot
	p := says{wait(0), &told}
	var w policy.Waits
	w.BeginScan(p, 1*sec, 1000)
	w.Commit(lookup.Run{})
	w.Commit(blocks(2, 16))
	w.Commit(blocks(2, 16))
	w.Commit(blocks(1, 16))
	w.Commit(blocks(3, 16))
	require.Len(t, told, 2)
	assert.Equal(t, 0, told[0].Charged)
	assert.Equal(t, blocks(2, 16), told[0].Run)
	assert.Equal(t, 32, told[1].Charged)
	assert.Equal(t, blocks(3, 16), told[1].Run)

	rate, err := policy.NewRate(1, 100)
	require.NoError(t, err)
	w.Reset()
	w.BeginScan(policy.Any(bounds, policy.RecomputeBudget{MaxTokens: 100, Rate: rate}), 1*sec, 1000)
	for range 3 { // a request that is preempted and comes back
		assert.Equal(t, cut, w.Run(blocks(5, 16)))
		w.Commit(blocks(5, 16))
	}
	var other policy.Waits
	other.BeginScan(policy.RecomputeBudget{MaxTokens: 100, Rate: rate}, 1*sec, 1000)
	assert.Equal(t, wait(60*sec), other.Run(blocks(5, 16)), "20 of 100 are left")
}

func TestResetForgetsEverything(t *testing.T) {
	var w policy.Waits
	for n := range uint64(100) {
		scan(&w, time.Hour, n, lookup.Pending)
	}
	w.Commit(blocks(2, 16))
	w.Reset()
	assert.Zero(t, w.RequestAge(2*time.Hour))
	_, ok := w.Until()
	assert.False(t, ok)
	for n := range uint64(100) {
		require.Equal(t, pending(0), scan(&w, sec, n, lookup.Pending), "the latest time seen is forgotten too")
	}
}

func TestWaitsSurvivesAPanickingPolicy(t *testing.T) {
	var w policy.Waits
	w.BeginScan(policy.Func(func(policy.Snapshot) policy.Decision { panic("user's") }), 1*sec, 1000)
	assert.Panics(t, func() { w.Block(key(1), lookup.Pending, 0) }, "containing it is the caller's affair")
	assert.Equal(t, pending(2*sec), scan(&w, 3*sec, 1, lookup.Pending), "the clock had started")
}

// A server may use a weak hash: keys that differ in one place only.
func TestWaitsTellsKeysApart(t *testing.T) {
	var keys []lookup.Key
	for i := range lookup.HashSize {
		for bit := range 8 {
			var k lookup.Key
			k.Hash[i] = 1 << bit
			keys = append(keys, k)
		}
	}
	for g := range uint32(64) {
		keys = append(keys, lookup.Key{Group: g}) // the zero key among them
	}
	var w policy.Waits
	for i := range keys {
		w.BeginScan(policy.Always{}, time.Duration(i), 0)
		require.Equal(t, pending(0), w.Block(&keys[i], lookup.Pending, 0))
	}
	w.BeginScan(policy.Always{}, 1000, 0)
	for i := range keys {
		require.Equal(t, pending(1000-time.Duration(i)), w.Block(&keys[i], lookup.Pending, 0))
	}
}
