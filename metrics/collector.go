package metrics

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kvoffload/kvoffload/lookup"
	"github.com/kvoffload/kvoffload/tiering"
)

// Options configure a Collector.
type Options struct {
	// ConstLabels are put on every metric. Default none.
	ConstLabels prometheus.Labels
}

// WaitBuckets are the bounds of kvoffload_wait_seconds. Up to 10 s they are those of
// vLLM's vllm:kv_offload_lookup_async_delay_seconds, so that the two can be added up;
// waits of a minute and more have been seen in production, and clients give up at 300
// or 600 s.
var WaitBuckets = []float64{
	0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 120, 300, 600,
}

// Collector counts events. Make it with New; a nil or zero Collector has no hooks and
// no metrics, so that a host can leave metrics out without asking everywhere.
type Collector struct {
	answers    [lookup.Results]prometheus.Counter
	plans      [lookup.Actions + 1][lookup.Reasons + 1]prometheus.Counter
	waits      [waitLabels]prometheus.Observer
	cuts       prometheus.Counter
	cutTokens  prometheus.Counter
	loaded     prometheus.Counter
	recomputed prometheus.Counter
	evictions  prometheus.Counter
	refused    [tiering.JobKinds + 1]prometheus.Counter
	late       [tiering.JobKinds + 1]prometheus.Counter
	faults     map[string]prometheus.Counter
	byTier     tiers

	all []prometheus.Collector
}

// other is the label value of what is not known.
const other = "other"

// What a wait can be for. Only these, not every reason there is: each one costs a
// series per bucket.
const (
	waitPending = iota
	waitRetry
	waitOther
	waitLabels
)

var waitNames = [waitLabels]string{
	waitPending: lookup.ReasonPending.String(),
	waitRetry:   lookup.ReasonRetry.String(),
	waitOther:   other,
}

// New makes a collector. The error tells of every one of ConstLabels that Prometheus or
// a metric here can't have.
func New(o Options) (*Collector, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	c := &Collector{faults: make(map[string]prometheus.Counter)}
	f := factory{c, o.ConstLabels}
	answers := f.counter("lookup_answers_total", "Blocks asked for, by the answer that the final plan of a question had.", "result")
	for r := range c.answers {
		c.answers[r] = answers.WithLabelValues(lookup.Result(r).String())
	}
	plans := f.counter("plans_total", "Plans by action and reason; a deferred request's waiting counts once.", "action", "reason")
	for a := range c.plans {
		for r := range c.plans[a] {
			c.plans[a][r] = plans.WithLabelValues(actionLabel(lookup.Action(a)), reasonLabel(lookup.Reason(r)))
		}
	}
	waits := f.histogram("wait_seconds", "Time that a request waited, by what it waited for last; observed once, when the wait is over.", "for")
	for w := range c.waits {
		c.waits[w] = waits.WithLabelValues(waitNames[w])
	}
	c.cuts = f.counter("budget_cuts_total", "Plans in which a pending run was cut, since recomputing it is cheaper than waiting.").WithLabelValues()
	c.cutTokens = f.counter("budget_cut_tokens_total", "Tokens given up by those cuts.").WithLabelValues()
	c.loaded = f.counter("loaded_tokens_total", "Tokens that plans said to load.").WithLabelValues()
	c.recomputed = f.counter("recomputed_tokens_total", "Tokens that final plans left to be computed.").WithLabelValues()
	c.evictions = f.counter("evictions_total", "Blocks evicted from the primary.").WithLabelValues()
	refused := f.counter("refused_blocks_total", "Blocks that found no room in the primary, by kind of job.", "kind")
	late := f.counter("late_completions_total", "Completions that changed nothing, by kind of job.", "kind")
	for k := range c.refused {
		c.refused[k] = refused.WithLabelValues(kindLabel(tiering.JobKind(k)))
		c.late[k] = late.WithLabelValues(kindLabel(tiering.JobKind(k)))
	}
	faults := f.counter("contained_faults_total", "Panics and senseless answers of a policy, clock, hook or tier that were contained.", "where")
	for _, where := range []string{"policy", "clock", "hook", "tier", other} {
		c.faults[where] = faults.WithLabelValues(where)
	}
	c.byTier.init(f)
	return c, nil
}

// ownLabels are the labels that metrics here have, and the one that histograms have.
var ownLabels = []string{"result", "action", "reason", "for", "kind", "tier", "outcome", "where", "le"}

// validate reports every fault in one error, or nil.
func (o Options) validate() error {
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(o.ConstLabels)) {
		if slices.Contains(ownLabels, name) {
			faults = append(faults, fmt.Errorf("%q is a label that metrics have themselves", name))
			continue
		}
		// A metric with a senseless label can't be collected; better to hear of it now.
		probe := prometheus.NewDesc("kvoffload_probe", "probe", nil, prometheus.Labels{name: o.ConstLabels[name]})
		if _, err := prometheus.NewConstMetric(probe, prometheus.GaugeValue, 0); err != nil {
			faults = append(faults, fmt.Errorf("%q: %w", name, err))
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return fmt.Errorf("metrics: invalid ConstLabels: %w", errors.Join(faults...))
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	if c == nil {
		return
	}
	for _, m := range c.all {
		m.Describe(ch)
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	if c == nil {
		return
	}
	for _, m := range c.all {
		m.Collect(ch)
	}
}

// factory makes metrics with the collector's prefix and labels.
type factory struct {
	c      *Collector
	labels prometheus.Labels
}

func (f factory) counter(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "kvoffload_" + name, Help: help, ConstLabels: f.labels,
	}, labels)
	f.c.all = append(f.c.all, v)
	return v
}

func (f factory) histogram(name, help string, labels ...string) *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "kvoffload_" + name, Help: help, ConstLabels: f.labels, Buckets: WaitBuckets,
	}, labels)
	f.c.all = append(f.c.all, v)
	return v
}

func actionLabel(a lookup.Action) string {
	if int(a) < lookup.Actions {
		return a.String()
	}
	return other
}

func reasonLabel(r lookup.Reason) string {
	if r.Valid() {
		return r.String()
	}
	return other
}

func kindLabel(k tiering.JobKind) string {
	if int(k) < tiering.JobKinds {
		return k.String()
	}
	return other
}

// faultLabel makes one of five values of what a PanicEvent says.
func faultLabel(where string) string {
	switch {
	case where == "policy", where == "clock", where == "hook":
		return where
	case strings.HasPrefix(where, "tier "):
		return "tier"
	}
	return other
}
