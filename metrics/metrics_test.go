package metrics_test

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/kvoffload/kvoffload/lookup"
	"github.com/kvoffload/kvoffload/metrics"
	"github.com/kvoffload/kvoffload/policy"
	"github.com/kvoffload/kvoffload/tiering"
	"github.com/kvoffload/kvoffload/tiering/tieringtest"
)

func newCollector(tb testing.TB, labels prometheus.Labels) *metrics.Collector {
	tb.Helper()
	c, err := metrics.New(metrics.Options{ConstLabels: labels})
	require.NoError(tb, err)
	return c
}

// every calls each hook, with what is known and with nonsense.
func every(e tiering.Events) {
	for n := range 256 {
		e.Planned(tiering.PlanEvent{Plan: lookup.Plan{Action: lookup.Action(n), Reason: lookup.Reason(n), Tokens: -n}})
		e.WaitEnded(tiering.WaitEvent{For: lookup.Reason(n), Waited: -1})
		e.GaveUp(tiering.GaveUpEvent{Reason: lookup.Reason(n), Tier: fmt.Sprint("t", n)})
		e.JobEnded(tiering.JobEvent{Kind: tiering.JobKind(n), Tier: fmt.Sprint("t", n), Blocks: 1, Failed: n})
		e.Refused(tiering.RefusedEvent{Kind: tiering.JobKind(n), Blocks: -1})
		e.Late(tiering.LateEvent{Kind: tiering.JobKind(n)})
		e.Panicked(tiering.PanicEvent{Where: fmt.Sprint("where", n)})
	}
	e.Declined(tiering.JobEvent{Tier: "disk"})
	e.Evicted(tiering.EvictedEvent{})
}

func TestMetricsAreWellFormedAndBounded(t *testing.T) {
	c := newCollector(t, nil)
	every(c.Events())
	r := prometheus.NewPedanticRegistry()
	require.NoError(t, r.Register(c))
	problems, err := testutil.GatherAndLint(r)
	require.NoError(t, err)
	require.Empty(t, problems)
	families, err := r.Gather()
	require.NoError(t, err)
	for _, f := range families {
		require.True(t, strings.HasPrefix(f.GetName(), "kvoffload_"), f.GetName())
		tiers := map[string]bool{}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "tier" {
					tiers[l.GetValue()] = true
				}
			}
		}
		require.LessOrEqual(t, len(tiers), metrics.MaxTiers+1, f.GetName())
	}
}

func TestTwoManagersInOneRegistry(t *testing.T) {
	r := prometheus.NewPedanticRegistry()
	require.NoError(t, r.Register(newCollector(t, prometheus.Labels{"engine": "0"})))
	require.NoError(t, r.Register(newCollector(t, prometheus.Labels{"engine": "1"})))
	require.Error(t, r.Register(newCollector(t, prometheus.Labels{"engine": "1"})))
	_, err := r.Gather()
	require.NoError(t, err)
}

func TestSenselessLabelsAreRefusedAllInOneError(t *testing.T) {
	_, err := metrics.New(metrics.Options{ConstLabels: prometheus.Labels{
		"tier": "x", "le": "x", "": "x", "model": "\xff", "engine": "0",
	}})
	require.EqualError(t, err, `metrics: invalid ConstLabels: "": "" is not a valid label name for metric "kvoffload_probe"
"le" is a label that metrics have themselves
"model": label value "\xff" is not valid UTF-8
"tier" is a label that metrics have themselves`)
}

// A label that a metric has must be refused as a constant one, whatever metrics there are.
func TestEveryLabelOfAMetricIsRefusedAsAConstantOne(t *testing.T) {
	c := newCollector(t, nil)
	every(c.Events())
	r := prometheus.NewPedanticRegistry()
	require.NoError(t, r.Register(c))
	families, err := r.Gather()
	require.NoError(t, err)
	labels := map[string]bool{"le": true}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = true
			}
		}
	}
	for name := range labels {
		_, err := metrics.New(metrics.Options{ConstLabels: prometheus.Labels{name: "x"}})
		require.ErrorContains(t, err, "have themselves", name)
	}
}

func TestNilAndZeroCollectorsDoNothing(t *testing.T) {
	for _, c := range []*metrics.Collector{nil, {}} {
		require.Equal(t, tiering.Events{}, c.Events())
		r := prometheus.NewPedanticRegistry()
		require.NoError(t, r.Register(c))
		families, err := r.Gather()
		require.NoError(t, err)
		require.Empty(t, families)
	}
}

// A hook that is not fed is a count that stays zero unnoticed.
func TestEveryHookIsFed(t *testing.T) {
	events := reflect.ValueOf(newCollector(t, nil).Events())
	for i := range events.NumField() {
		require.False(t, events.Field(i).IsNil(), events.Type().Field(i).Name)
	}
}

func TestATiersNameNeedNotBeText(t *testing.T) {
	c := newCollector(t, nil)
	c.Events().Declined(tiering.JobEvent{Tier: "disk\xff"})
	require.Equal(t, 1.0, sample(t, c, "kvoffload_declined_jobs_total", "disk\uFFFD"))
}

func TestAWaitIsNeverNegative(t *testing.T) {
	c := newCollector(t, nil)
	c.Events().WaitEnded(tiering.WaitEvent{For: lookup.ReasonRetry, Waited: -time.Second})
	count, sum := observed(t, c)
	require.EqualValues(t, 1, count)
	require.Zero(t, sum)
}

// rig is a Manager on a mock clock that feeds a collector.
func rig(t *testing.T, c *metrics.Collector, disk *tieringtest.Tier) (*tiering.Manager, *clock.Mock) {
	t.Helper()
	mock := clock.NewMock()
	m, err := tiering.New(tiering.Options{
		Layout:      lookup.Layout{Groups: []lookup.Group{{TokensPerBlock: 16}}},
		Primary:     tiering.PrimaryOptions{Blocks: 4},
		Secondaries: []tiering.Secondary{disk},
		Policy:      policy.Any(policy.Deadline{}, policy.RecomputeBudget{MaxTokens: 16}),
		Clock:       mock,
		Events:      c.Events(),
	})
	require.NoError(t, err)
	return m, mock
}

func TestCase87_ADeferredRequestsRetriesAreNoNewLookups(t *testing.T) {
	c := newCollector(t, nil)
	disk := tieringtest.NewTier("disk")
	m, mock := rig(t, c, disk)
	keys := []lookup.Key{lookup.KeyFrom64(1, 0), lookup.KeyFrom64(2, 0), lookup.KeyFrom64(3, 0)}
	w := m.Begin(tiering.RequestOptions{})
	j, err := w.Store(keys, nil)
	require.NoError(t, err)
	require.NoError(t, j.Done(0, nil))
	r := m.Begin(tiering.RequestOptions{})
	q := lookup.Query{Keys: [][]lookup.Key{keys}, Tokens: 49}
	for range 7 {
		require.Equal(t, lookup.Wait, r.Plan(q).Action)
	}
	mock.Add(2 * time.Second)
	require.NoError(t, j.Done(1, nil)) // now the budget covers what is left
	p := r.Replan()
	require.Equal(t, lookup.Load, p.Action)
	require.NoError(t, p.Claim.Release())
	r.End()
	require.NoError(t, j.Finish(nil))
	require.NoError(t, testutil.CollectAndCompare(c, strings.NewReader(`
# HELP kvoffload_lookup_answers_total Blocks asked for, by the answer that the final plan of a question had.
# TYPE kvoffload_lookup_answers_total counter
kvoffload_lookup_answers_total{result="hit"} 2
kvoffload_lookup_answers_total{result="miss"} 0
kvoffload_lookup_answers_total{result="pending"} 1
kvoffload_lookup_answers_total{result="retry"} 0
# HELP kvoffload_budget_cuts_total Plans in which a pending run was cut, since recomputing it is cheaper than waiting.
# TYPE kvoffload_budget_cuts_total counter
kvoffload_budget_cuts_total 1
# HELP kvoffload_budget_cut_tokens_total Tokens given up by those cuts.
# TYPE kvoffload_budget_cut_tokens_total counter
kvoffload_budget_cut_tokens_total 16
# HELP kvoffload_loaded_tokens_total Tokens that plans said to load.
# TYPE kvoffload_loaded_tokens_total counter
kvoffload_loaded_tokens_total 32
# HELP kvoffload_recomputed_tokens_total Tokens that final plans left to be computed.
# TYPE kvoffload_recomputed_tokens_total counter
kvoffload_recomputed_tokens_total 17
`), "kvoffload_lookup_answers_total", "kvoffload_budget_cuts_total", "kvoffload_budget_cut_tokens_total",
		"kvoffload_loaded_tokens_total", "kvoffload_recomputed_tokens_total"))
	require.Equal(t, 1.0, sample(t, c, "kvoffload_plans_total", "wait", "pending"), "once, not seven times")
	require.Equal(t, 1.0, sample(t, c, "kvoffload_plans_total", "load", "budget"))
	require.Equal(t, 1.0, sample(t, c, "kvoffload_jobs_total", "store", "ok", "primary"))
	require.Equal(t, 3.0, sample(t, c, "kvoffload_job_blocks_total", "store", "written", "primary"))
	count, sum := observed(t, c)
	require.EqualValues(t, 1, count, "the wait is observed once, when it is over")
	require.InDelta(t, 2, sum, 1e-9)
}

func TestCase88_LongWaitsHaveBuckets(t *testing.T) {
	b := metrics.WaitBuckets
	require.Equal(t, []float64{0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10}, b[:11])
	require.Equal(t, 600.0, b[len(b)-1])
	c := newCollector(t, nil)
	c.Events().WaitEnded(tiering.WaitEvent{For: lookup.ReasonPending, Waited: 373 * time.Second})
	count, sum := observed(t, c)
	require.EqualValues(t, 1, count)
	require.InDelta(t, 373, sum, 1e-9)
}

// sample returns the value of a counter whose label values are these, in the order of
// their names.
func sample(t *testing.T, c prometheus.Collector, name string, values ...string) float64 {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	require.NoError(t, r.Register(c))
	families, err := r.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			var have []string
			for _, l := range m.GetLabel() {
				have = append(have, l.GetValue())
			}
			if fmt.Sprint(have) == fmt.Sprint(values) {
				return m.GetCounter().GetValue()
			}
		}
	}
	t.Fatalf("no %s with %v", name, values)
	return 0
}

// observed returns how many waits were observed, and their sum in seconds.
func observed(t *testing.T, c prometheus.Collector) (count uint64, sum float64) {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	require.NoError(t, r.Register(c))
	families, err := r.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == "kvoffload_wait_seconds" {
			for _, m := range f.GetMetric() {
				count += m.GetHistogram().GetSampleCount()
				sum += m.GetHistogram().GetSampleSum()
			}
		}
	}
	return count, sum
}

func TestDeadlineExpiriesAreCountedByTier(t *testing.T) {
	c := newCollector(t, nil)
	disk := tieringtest.NewTier("disk")
	disk.AnswerOthers(lookup.Hit)
	m, mock := rig(t, c, disk)
	r := m.Begin(tiering.RequestOptions{})
	keys := []lookup.Key{lookup.KeyFrom64(1, 0), lookup.KeyFrom64(2, 0)}
	require.Equal(t, lookup.Wait, r.Plan(lookup.Query{Keys: [][]lookup.Key{keys}, Tokens: 33}).Action)
	mock.Add(policy.DefaultPerKey)
	require.Equal(t, lookup.Recompute, r.Replan().Action)
	require.Equal(t, 1.0, sample(t, c, "kvoffload_given_up_total", "key_deadline", "disk"))
}

func TestBookingAPlanAllocatesNothing(t *testing.T) {
	events := newCollector(t, nil).Events()
	for a := range lookup.Actions {
		for r := range lookup.Reasons {
			e := tiering.PlanEvent{
				Plan:   lookup.Plan{Action: lookup.Action(a), Reason: lookup.Reason(r), Tokens: 160, Cut: lookup.Run{Tokens: 16}},
				Tokens: 200, Answers: [lookup.Results]int{1, 2, 3, 4},
			}
			require.Zero(t, testing.AllocsPerRun(10, func() { events.Planned(e) }), e.Plan)
		}
	}
}

// These come once per job or block, under load no less often; only a tier's first event
// may cost something.
func TestBookingAnEventOfAKnownTierAllocatesNothing(t *testing.T) {
	events := newCollector(t, nil).Events()
	require.Zero(t, testing.AllocsPerRun(10, func() {
		events.WaitEnded(tiering.WaitEvent{For: lookup.ReasonPending, Waited: time.Second})
		events.GaveUp(tiering.GaveUpEvent{Reason: lookup.ReasonKeyDeadline, Tier: "disk"})
		events.JobEnded(tiering.JobEvent{Kind: tiering.CascadeJob, Tier: "disk", Blocks: 2, Failed: 1})
		events.Evicted(tiering.EvictedEvent{})
	}))
}

func TestCollectorIsSafeForConcurrentUse(t *testing.T) {
	c := newCollector(t, nil)
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() { every(c.Events()) })
		group.Go(func() { testutil.CollectAndCount(c) })
	}
	group.Wait()
}

func BenchmarkPlanned(b *testing.B) {
	planned := newCollector(b, nil).Events().Planned
	e := tiering.PlanEvent{Plan: lookup.Plan{Action: lookup.Load, Reason: lookup.ReasonReady, Tokens: 160}, Tokens: 200}
	e.Answers[lookup.Hit] = 10
	b.ReportAllocs()
	for b.Loop() {
		planned(e)
	}
}

func Example() {
	collector, err := metrics.New(metrics.Options{ConstLabels: prometheus.Labels{"engine": "0"}})
	if err != nil {
		panic(err)
	}
	prometheus.NewRegistry().MustRegister(collector)
	_, err = tiering.New(tiering.Options{
		Layout:  lookup.Layout{Groups: []lookup.Group{{TokensPerBlock: 16}}},
		Primary: tiering.PrimaryOptions{Blocks: 1024},
		Events:  collector.Events(),
	})
	fmt.Println(err)
	// Output: <nil>
}

// Hooks of your own beside the collector's.
func ExampleCollector_Events() {
	collector, err := metrics.New(metrics.Options{})
	if err != nil {
		panic(err)
	}
	events := collector.Events()
	count := events.GaveUp
	events.GaveUp = func(e tiering.GaveUpEvent) {
		count(e)
		fmt.Println("gave up on a block of", e.Tier, "after", e.Waited, "because of", e.Reason)
	}
	// Into tiering.Options{Events: events}; the Manager calls it like this:
	events.GaveUp(tiering.GaveUpEvent{Reason: lookup.ReasonKeyDeadline, Tier: "disk", Waited: 5 * time.Second})
	// Output: gave up on a block of disk after 5s because of key_deadline
}
