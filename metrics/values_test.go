package metrics_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/kvoffload/kvoffload/lookup"
	"github.com/kvoffload/kvoffload/tiering"
)

// Well-formed metrics may still count the wrong thing: one event, one value each.
func TestEachJobEventCountsWhatItSays(t *testing.T) {
	c := newCollector(t, nil)
	e := c.Events()
	err := errors.New("lost")
	e.JobEnded(tiering.JobEvent{Kind: tiering.StoreJob, Tier: tiering.PrimaryName, Blocks: 5})
	e.JobEnded(tiering.JobEvent{Kind: tiering.PromotionJob, Tier: "disk", Blocks: 5, Failed: 2, Err: err})
	e.JobEnded(tiering.JobEvent{Kind: tiering.CascadeJob, Tier: "disk", Blocks: 3, Failed: 3, Err: err})
	for _, w := range []struct {
		kind, tier, outcome string
		written, failed     float64
	}{
		{"store", "primary", "ok", 5, 0},
		{"promotion", "disk", "partial", 3, 2},
		{"cascade", "disk", "failed", 0, 3},
	} {
		for _, outcome := range []string{"ok", "partial", "failed"} {
			want := 0.0
			if outcome == w.outcome {
				want = 1
			}
			require.Equal(t, want, sample(t, c, "kvoffload_jobs_total", w.kind, outcome, w.tier), w.kind)
		}
		require.Equal(t, w.written, sample(t, c, "kvoffload_job_blocks_total", w.kind, "written", w.tier), w.kind)
		require.Equal(t, w.failed, sample(t, c, "kvoffload_job_blocks_total", w.kind, "failed", w.tier), w.kind)
	}
}

func TestEvictionsRefusalsAndLateCompletionsCount(t *testing.T) {
	c := newCollector(t, nil)
	e := c.Events()
	e.Evicted(tiering.EvictedEvent{})
	e.Refused(tiering.RefusedEvent{Kind: tiering.PromotionJob, Blocks: 3})
	e.Late(tiering.LateEvent{Kind: tiering.CascadeJob, Tier: "disk"})
	require.Equal(t, 1.0, sample(t, c, "kvoffload_evictions_total"))
	require.Equal(t, 3.0, sample(t, c, "kvoffload_refused_blocks_total", "promotion"))
	require.Equal(t, 1.0, sample(t, c, "kvoffload_late_completions_total", "cascade"))
}

// A tier's name and method are in PanicEvent.Where; as label values they would be unbounded.
func TestFaultsAreCountedByWhoseTheyAre(t *testing.T) {
	c := newCollector(t, nil)
	for _, where := range []string{"policy", "clock", "hook", "tier disk Lookup", "tier s3 Store", "moon", ""} {
		c.Events().Panicked(tiering.PanicEvent{Where: where})
	}
	require.NoError(t, testutil.CollectAndCompare(c, strings.NewReader(`
# HELP kvoffload_contained_faults_total Panics and senseless answers of a policy, clock, hook or tier that were contained.
# TYPE kvoffload_contained_faults_total counter
kvoffload_contained_faults_total{where="clock"} 1
kvoffload_contained_faults_total{where="hook"} 1
kvoffload_contained_faults_total{where="other"} 2
kvoffload_contained_faults_total{where="policy"} 1
kvoffload_contained_faults_total{where="tier"} 2
`), "kvoffload_contained_faults_total"))
}

// What the engine had computed before it asked is not left to be computed.
func TestRecomputedTokensLeaveOutWhatWasComputedBefore(t *testing.T) {
	c := newCollector(t, nil)
	planned := c.Events().Planned
	planned(tiering.PlanEvent{Plan: lookup.Plan{Action: lookup.Load, Reason: lookup.ReasonReady, Tokens: 32}, Tokens: 100, Computed: 16})
	require.Equal(t, 52.0, sample(t, c, "kvoffload_recomputed_tokens_total"))
	planned(tiering.PlanEvent{Plan: lookup.Plan{Action: lookup.Recompute}, Tokens: 8, Computed: 16})
	require.Equal(t, 52.0, sample(t, c, "kvoffload_recomputed_tokens_total"), "never below what it was")
}

// The query of a refusal may be the very thing that is wrong: it counts as a plan, its
// tokens do not.
func TestARefusalIsAPlanWhoseTokensDoNotCount(t *testing.T) {
	c := newCollector(t, nil)
	c.Events().Planned(tiering.PlanEvent{Plan: lookup.Plan{Action: lookup.Recompute, Reason: lookup.ReasonRefused}, Tokens: 100})
	require.Equal(t, 1.0, sample(t, c, "kvoffload_plans_total", "recompute", "refused"))
	require.Zero(t, sample(t, c, "kvoffload_recomputed_tokens_total"))
}
