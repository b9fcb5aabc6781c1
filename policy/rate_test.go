package policy_test

import (
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kvoffload/kvoffload/lookup"
	"github.com/kvoffload/kvoffload/policy"
)

// bucket drives a Rate through a budget that covers everything.
type bucket struct{ b policy.RecomputeBudget }

func newBucket(t testing.TB, perSecond, burst int) bucket {
	r, err := policy.NewRate(perSecond, burst)
	require.NoError(t, err)
	return bucket{policy.RecomputeBudget{MaxTokens: math.MaxInt, Rate: r}}
}

func at(now time.Duration, tokens int) policy.Snapshot {
	s := run(tail(tokens))
	s.Now = now
	return s
}

func (b bucket) wait(now time.Duration, tokens int) time.Duration {
	return b.b.Decide(at(now, tokens)).After
}
func (b bucket) take(now time.Duration, tokens int) { b.b.Commit(at(now, tokens)) }

func TestRate(t *testing.T) {
	b := newBucket(t, 100, 50)
	assert.Zero(t, b.wait(0, 50), "starts full")
	b.take(0, 50)
	assert.Equal(t, 10*ms, b.wait(0, 1))
	assert.Equal(t, 500*ms, b.wait(0, 50))
	assert.Equal(t, 1*ms, b.wait(9*ms, 1))
	assert.Zero(t, b.wait(10*ms, 1))
	assert.Zero(t, b.wait(10*ms, 0))
	assert.Zero(t, b.wait(time.Hour, 50))
	b.take(time.Hour, 30)
	assert.Equal(t, 300*ms, b.wait(time.Hour, 50), "holds no more than the burst")
}

func TestRateRoundsUp(t *testing.T) {
	b := newBucket(t, 3, 1)
	b.take(0, 1)
	assert.Equal(t, 333_333_334*time.Nanosecond, b.wait(0, 1))
}

func TestRateMoreThanTheBurst(t *testing.T) {
	b := newBucket(t, 100, 50)
	assert.Zero(t, b.wait(0, 200), "a full bucket allows what it can't hold")
	b.take(0, 200)
	assert.Equal(t, 1500*ms+10*ms, b.wait(0, 1), "and is in debt then")
	assert.Equal(t, 2*sec, b.wait(0, 200), "until it is full again")
	assert.Zero(t, b.wait(2*sec, 200))
}

func TestRateClockGoesBack(t *testing.T) {
	b := newBucket(t, 100, 50)
	b.take(10*sec, 50)
	assert.Equal(t, 10*sec+500*ms, b.wait(0, 50), "nothing until the clock is where it was")
	b.take(5*sec, 10)
	assert.Equal(t, 600*ms, b.wait(10*sec, 50), "taking at an earlier time refills nothing")
	b.take(math.MinInt64, 0)
	assert.Equal(t, 600*ms, b.wait(10*sec, 50))
	assert.Equal(t, 10*sec+600*ms, b.wait(math.MinInt64, 50))
	b.take(math.MaxInt64, 50)
	assert.Equal(t, time.Duration(math.MaxInt64), b.wait(0, 50), "no overflow")
}

// However it is rounded, after the wait there is enough, and just before there is
// not.
func TestRateIsExact(t *testing.T) {
	for _, perSecond := range []int{1, 3, 7, 1000, 999_999_937 / 2, lookup.MaxTokens} {
		for _, burst := range []int{1, 10, 12345, lookup.MaxTokens} {
			b := newBucket(t, perSecond, burst)
			now := time.Duration(0)
			for i, n := range []int{1, burst, burst/2 + 1, burst, 1} {
				w := b.wait(now, n)
				if w > 0 {
					require.NotZero(t, b.wait(now+w-1, n), "%d/s, burst %d, step %d", perSecond, burst, i)
				}
				now += w
				require.Zero(t, b.wait(now, n), "%d/s, burst %d, step %d", perSecond, burst, i)
				b.take(now, n)
			}
		}
	}
}

func TestRateIsSafeForConcurrentUse(t *testing.T) {
	b := newBucket(t, 1000, 1000)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 1000 {
				now := time.Duration(i) * ms
				if b.wait(now, 1+g) == 0 {
					b.take(now, 1)
				}
			}
		})
	}
	wg.Wait()

	// What was taken is neither lost nor taken twice.
	b = newBucket(t, 1, 1)
	b.take(0, 1)
	for range 4 {
		wg.Go(func() {
			for range 250 {
				b.take(0, 3)
			}
		})
	}
	wg.Wait()
	assert.Equal(t, 3001*sec, b.wait(0, 1))
}

func TestCase91_NewRateRefuses(t *testing.T) {
	for _, tc := range []struct {
		perSecond, burst int
		want             string
	}{
		{0, 1, "policy: invalid policy: Rate's tokensPerSecond is 0, want 1 to 536870911"},
		{1, -1, "policy: invalid policy: Rate's burst is -1, want 1 to 536870911"},
		{math.MinInt32, math.MaxInt32, "policy: invalid policy: Rate's tokensPerSecond is -2147483648, want 1 to 536870911\n" +
			"Rate's burst is 2147483647, want 1 to 536870911"},
	} {
		r, err := policy.NewRate(tc.perSecond, tc.burst)
		assert.Nil(t, r)
		assert.ErrorIs(t, err, policy.ErrPolicy)
		assert.EqualError(t, err, tc.want)
	}
}
