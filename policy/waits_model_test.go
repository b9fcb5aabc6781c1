package policy_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kvoffload/kvoffload/lookup"
	"github.com/kvoffload/kvoffload/policy"
)

// model is what Waits is to do under policy.Deadline, written from the clauses
// with no regard to cost: it keeps the whole history and works out every answer
// from that.
type model struct {
	d       policy.Deadline
	history []observed // since the last End
	wait    []time.Duration
}

type observed struct {
	at  time.Duration
	key uint64
	was lookup.Result // what the tiers said
	saw lookup.Result // what the request saw
}

// firstUnresolved is D1: since the key was last a hit.
func (m *model) firstUnresolved(key uint64, now time.Duration) time.Duration {
	first := now
	for i := len(m.history) - 1; i >= 0; i-- {
		h := m.history[i]
		if h.key != key {
			continue
		}
		if h.was == lookup.Hit {
			break
		}
		if h.was.Unresolved() {
			first = h.at
		}
	}
	return first
}

// expired is D2: whether the request ever saw a miss where the tiers knew better.
func (m *model) expired(key uint64) bool {
	for _, h := range m.history {
		if h.key == key && h.was.Unresolved() && h.saw == lookup.Miss {
			return true
		}
	}
	return false
}

func (m *model) block(now time.Duration, key uint64, was lookup.Result) (saw lookup.Result, left time.Duration) {
	saw = was
	if !was.Valid() {
		saw = lookup.Miss
	}
	if was.Unresolved() {
		left = m.d.PerKey
		if was == lookup.Retry {
			left = m.d.PerRetry
		}
		left -= now - m.firstUnresolved(key, now)
		requestLeft := m.d.PerRequest
		if len(m.wait) > 0 {
			requestLeft -= now - m.wait[0]
		}
		left = min(left, requestLeft)
		if left <= 0 || m.expired(key) {
			saw, left = lookup.Miss, 0
		}
	}
	m.history = append(m.history, observed{now, key, was, saw})
	return saw, left
}

func TestD1_D2_D3_WaitsAgainstAModel(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 91))
		d := policy.Deadline{
			PerKey:     time.Duration(1 + rng.IntN(20)),
			PerRetry:   time.Duration(1 + rng.IntN(20)),
			PerRequest: time.Duration(20 + rng.IntN(100)),
		}
		m := model{d: d}
		p := policy.Any(policy.RecomputeBudget{MaxTokens: 16}, d)
		var w policy.Waits
		var now time.Duration
		for range 150 {
			if rng.IntN(40) == 0 {
				m, now = model{d: d}, 0
				w.Reset()
			}
			told := now + time.Duration(rng.IntN(8)) - 2 // a clock that sometimes goes back
			now = max(now, told)
			w.BeginScan(p, told, 1000)
			due, any := time.Duration(0), false
			for range rng.IntN(6) {
				k, was := rng.Uint64N(5), lookup.Result(rng.IntN(lookup.Results+1))
				saw, left := m.block(now, k, was)
				if left > 0 && (!any || now+left < due) {
					due, any = now+left, true
				}
				known := m.expired(k)
				o := w.Block(key(k), was, 0)
				require.Equal(t, saw, o.Result, "seed %d, at %v, key %d is %v", seed, now, k, was)
				reason, given := w.GivenUp(key(k))
				require.Equal(t, known, given, "seed %d, at %v, key %d is %v", seed, now, k, was)
				if given {
					require.Contains(t, []lookup.Reason{
						lookup.ReasonKeyDeadline, lookup.ReasonRetryDeadline, lookup.ReasonRequestDeadline,
					}, reason)
				}
				if saw.Unresolved() {
					require.Equal(t, now-m.firstUnresolved(k, now), o.Age)
				}
			}
			until, ok := w.Until()
			require.Equal(t, any, ok, "seed %d, at %v", seed, now)
			require.Equal(t, due, until, "seed %d, at %v", seed, now)
			if any && rng.IntN(2) == 0 {
				m.wait = append(m.wait, now)
				w.Deferred()
			}
		}
	}
}
