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

const (
	ms  = time.Millisecond
	sec = time.Second
)

func wait(after time.Duration) policy.Decision {
	return policy.Decision{Verdict: policy.Wait, After: after}
}

func recompute(r lookup.Reason) policy.Decision { return policy.Decision{Reason: r} }

func block(r lookup.Result, key, request time.Duration) policy.Snapshot {
	return policy.Snapshot{Scope: policy.Block, Result: r, KeyAge: key, RequestAge: request, Tokens: 1000}
}

func TestD2_D3_Deadline(t *testing.T) {
	d := policy.Deadline{PerKey: 4 * sec, PerRetry: 2 * sec, PerRequest: 6 * sec}
	for _, tc := range []struct {
		name string
		s    policy.Snapshot
		want policy.Decision
	}{
		{"pending, just seen", block(lookup.Pending, 0, 0), wait(4 * sec)},
		{"pending, one short of its bound", block(lookup.Pending, 4*sec-1, 0), wait(1)},
		{"pending, at its bound", block(lookup.Pending, 4*sec, 0), recompute(lookup.ReasonKeyDeadline)},
		{"pending, past its bound", block(lookup.Pending, time.Hour, 0), recompute(lookup.ReasonKeyDeadline)},
		{"retry, just seen", block(lookup.Retry, 0, 0), wait(2 * sec)},
		{"retry, at its bound", block(lookup.Retry, 2*sec, 0), recompute(lookup.ReasonRetryDeadline)},
		{"pending, the request's bound is nearer", block(lookup.Pending, 1*sec, 5*sec), wait(1 * sec)},
		{"pending, the request is at its bound", block(lookup.Pending, 0, 6*sec), recompute(lookup.ReasonRequestDeadline)},
		{"retry, the request is at its bound", block(lookup.Retry, 0, 6*sec), recompute(lookup.ReasonRequestDeadline)},
		{"both bounds reached", block(lookup.Pending, 4*sec, 6*sec), recompute(lookup.ReasonKeyDeadline)},
		{"ages that no clock gives", block(lookup.Pending, math.MinInt64, math.MinInt64), wait(4 * sec)},
		{"no opinion on runs", policy.Snapshot{Scope: policy.Run, RequestAge: time.Hour, KeyAge: time.Hour}, wait(0)},
		{"no opinion on unknown scopes", policy.Snapshot{Scope: 9, RequestAge: time.Hour, KeyAge: time.Hour}, wait(0)},
	} {
		t.Run(tc.name, func(t *testing.T) { assert.Equal(t, tc.want, d.Decide(tc.s)) })
	}
}

func TestD6_DefaultsBoundEveryWait(t *testing.T) {
	var d policy.Deadline
	require.NoError(t, policy.Validate(d))
	assert.Equal(t, wait(5*sec), d.Decide(block(lookup.Pending, 0, 0)))
	assert.Equal(t, recompute(lookup.ReasonKeyDeadline), d.Decide(block(lookup.Pending, policy.DefaultPerKey, 0)))
	assert.Equal(t, recompute(lookup.ReasonRetryDeadline), d.Decide(block(lookup.Retry, policy.DefaultPerRetry, 0)))
	assert.Equal(t, recompute(lookup.ReasonRequestDeadline), d.Decide(block(lookup.Retry, 0, policy.DefaultPerRequest)))

	// Every bound that is not named otherwise keeps its default.
	d = policy.Deadline{PerKey: policy.NoLimit, PerRetry: policy.NoLimit}
	require.NoError(t, policy.Validate(d))
	assert.Equal(t, wait(10*sec), d.Decide(block(lookup.Pending, time.Hour, 0)))
	assert.Equal(t, recompute(lookup.ReasonRequestDeadline), d.Decide(block(lookup.Pending, time.Hour, 10*sec)))
}

func TestD6_NoLimitIsChosenByName(t *testing.T) {
	d := policy.Deadline{PerKey: policy.NoLimit, PerRetry: policy.NoLimit, PerRequest: policy.NoLimit}
	require.NoError(t, policy.Validate(d))
	for _, r := range []lookup.Result{lookup.Pending, lookup.Retry} {
		assert.Equal(t, wait(0), d.Decide(block(r, math.MaxInt64, math.MaxInt64)))
	}
}

func TestCase13_LinearTimeoutHasACap(t *testing.T) {
	d := policy.Deadline{Base: 2 * sec, PerThousandTokens: 100 * ms}
	require.NoError(t, policy.Validate(d))
	capped := policy.Deadline{Base: 2 * sec, PerThousandTokens: 100 * ms, Max: 4 * sec}
	require.NoError(t, policy.Validate(capped))
	uncapped := policy.Deadline{Base: 2 * sec, PerThousandTokens: 100 * ms, Max: policy.NoLimit}
	require.NoError(t, policy.Validate(uncapped))
	for _, tc := range []struct {
		name   string
		d      policy.Deadline
		tokens int
		want   time.Duration
	}{
		{"no tokens", d, 0, 2 * sec},
		{"a short prompt", d, 10, 2*sec + 1*ms},
		{"a thousand", d, 1000, 2*sec + 100*ms},
		{"just below the cap", d, 279_999, 30*sec - 100*time.Microsecond},
		{"at the cap", d, 280_000, 30 * sec},
		{"a million tokens", d, 1_000_000, 30 * sec},
		{"the longest there is", d, math.MaxInt, 30 * sec},
		{"senseless", d, math.MinInt, 2 * sec},
		{"own cap", capped, 1_000_000, 4 * sec},
		{"no cap, by name", uncapped, 1_000_000, 102 * sec},
		{"no cap, overflowing", uncapped, math.MaxInt, 0},
		{"base alone", policy.Deadline{Base: 3 * sec}, 1 << 20, 3 * sec},
		{"slope alone, overflowing", policy.Deadline{PerThousandTokens: math.MaxInt64 - 1}, math.MaxInt, 30 * sec},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, r := range []lookup.Result{lookup.Pending, lookup.Retry} {
				s := policy.Snapshot{Tokens: tc.tokens, Result: r}
				assert.Equal(t, wait(tc.want), tc.d.Decide(s))
				if tc.want == 0 {
					continue
				}
				s.KeyAge = tc.want
				assert.Equal(t, policy.Recompute, tc.d.Decide(s).Verdict, "at the block's bound")
				s.KeyAge, s.RequestAge = 0, tc.want
				assert.Equal(t, recompute(lookup.ReasonRequestDeadline), tc.d.Decide(s), "at the request's bound")
			}
		})
	}

	t.Run("a linear bound of nothing", func(t *testing.T) {
		d := policy.Deadline{PerThousandTokens: sec}
		assert.Equal(t, recompute(lookup.ReasonKeyDeadline), d.Decide(policy.Snapshot{Result: lookup.Pending}))
	})
	t.Run("a bound that is set is used as it is", func(t *testing.T) {
		d := policy.Deadline{PerRetry: 1 * sec, Base: 20 * sec}
		require.NoError(t, policy.Validate(d))
		assert.Equal(t, wait(1*sec), d.Decide(block(lookup.Retry, 0, 0)))
		assert.Equal(t, wait(20*sec), d.Decide(block(lookup.Pending, 0, 0)))
	})
}

func TestD5_Stalled(t *testing.T) {
	at := func(r lookup.Result, key, write time.Duration) policy.Snapshot {
		return policy.Snapshot{Result: r, KeyAge: key, WriteAge: write}
	}
	var p policy.Stalled
	assert.Equal(t, wait(0), p.Decide(at(lookup.Pending, 0, 30*sec-1)))
	assert.Equal(t, recompute(lookup.ReasonStalled), p.Decide(at(lookup.Pending, 0, 30*sec)))
	assert.Equal(t, wait(0), p.Decide(at(lookup.Pending, 1, time.Hour)), "was waiting already")
	assert.Equal(t, wait(0), p.Decide(at(lookup.Pending, 0, 0)), "age not known")
	assert.Equal(t, wait(0), p.Decide(at(lookup.Retry, 0, time.Hour)), "no write")
	assert.Equal(t, wait(0), p.Decide(policy.Snapshot{Scope: policy.Run, WriteAge: time.Hour}))
	assert.Equal(t, recompute(lookup.ReasonStalled), policy.Stalled{After: sec}.Decide(at(lookup.Pending, 0, sec)))
	never := policy.Stalled{After: policy.NoLimit}
	assert.Equal(t, wait(0), never.Decide(at(lookup.Pending, 0, math.MaxInt64)))
	assert.NoError(t, policy.Validate(never))
}

// FuzzDeadline: whatever the bounds and the snapshot, valid or not, a deadline
// gives a clean answer; once it has expired it stays so; and where it waits, it
// expires when it says.
func FuzzDeadline(f *testing.F) {
	f.Add(int64(0), int64(0), int64(0), int64(0), int64(0), int64(0), 1000, false, int64(0), int64(0), int64(1))
	f.Add(int64(5e9), int64(5e9), int64(10e9), int64(0), int64(0), int64(0), 1000, true, int64(4e9), int64(9e9), int64(1e9))
	f.Add(int64(0), int64(0), int64(0), int64(2e9), int64(1e8), int64(3e10), 1<<20, true, int64(1e9), int64(1e9), int64(1e9))
	f.Add(int64(math.MaxInt64), int64(math.MinInt64), int64(-1), int64(math.MaxInt64), int64(math.MaxInt64), int64(math.MaxInt64),
		math.MaxInt, false, int64(math.MaxInt64), int64(math.MinInt64), int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, key, retry, request, base, slope, most int64, tokens int, isRetry bool, keyAge, requestAge, later int64) {
		d := policy.Deadline{
			PerKey: time.Duration(key), PerRetry: time.Duration(retry), PerRequest: time.Duration(request),
			Base: time.Duration(base), PerThousandTokens: time.Duration(slope), Max: time.Duration(most),
		}
		_ = policy.Validate(d)
		s := policy.Snapshot{
			Tokens: tokens, Result: lookup.Pending,
			KeyAge: time.Duration(keyAge), RequestAge: time.Duration(requestAge),
		}
		if isRetry {
			s.Result = lookup.Retry
		}
		older := func(by time.Duration) policy.Snapshot {
			o := s
			o.KeyAge, o.RequestAge = older(s.KeyAge, by), older(s.RequestAge, by)
			return o
		}
		got := d.Decide(s)
		if got != policy.Check(got) {
			t.Fatalf("%+v.Decide(%+v) = %+v, which Check changes", d, s, got)
		}
		if later >= 0 && got.Verdict == policy.Recompute && d.Decide(older(time.Duration(later))).Verdict != policy.Recompute {
			t.Fatalf("%+v.Decide(%+v) = %+v, but waits again %v later", d, s, got, time.Duration(later))
		}
		if got.After > 0 && s.KeyAge >= 0 && s.RequestAge >= 0 {
			if now := d.Decide(older(got.After)); now.Verdict != policy.Recompute {
				t.Fatalf("%+v.Decide(%+v) = %+v, but %v later %+v", d, s, got, got.After, now)
			}
			if just := d.Decide(older(got.After - 1)); just.Verdict != policy.Wait {
				t.Fatalf("%+v.Decide(%+v) = %+v, but sooner already %+v", d, s, got, just)
			}
		}
	})
}

func older(age, by time.Duration) time.Duration {
	if age > 0 && by > math.MaxInt64-age {
		return math.MaxInt64
	}
	return age + by
}
