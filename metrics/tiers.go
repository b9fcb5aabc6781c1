package metrics

import (
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kvoffload/kvoffload/lookup"
	"github.com/kvoffload/kvoffload/tiering"
)

// MaxTiers is how many names of tiers a Collector tells apart; further ones count as
// "other". A Manager's tiers are few and fixed: more means that something is wrong.
const MaxTiers = 64

const (
	outcomeOK = iota
	outcomePartial
	outcomeFailed
	outcomes
)

var outcomeNames = [outcomes]string{"ok", "partial", "failed"}

// tierCounters are the counters of one tier.
type tierCounters struct {
	gaveUp   [lookup.Reasons + 1]prometheus.Counter
	jobs     [tiering.JobKinds + 1][outcomes]prometheus.Counter
	written  [tiering.JobKinds + 1]prometheus.Counter
	failed   [tiering.JobKinds + 1]prometheus.Counter
	declined prometheus.Counter
}

// tiers resolves a tier's counters once, at its first event.
type tiers struct {
	gaveUp, jobs, blocks, declined *prometheus.CounterVec

	mu     sync.RWMutex
	byName map[string]*tierCounters
}

func (t *tiers) init(f factory) {
	t.byName = make(map[string]*tierCounters)
	t.gaveUp = f.counter("given_up_total", "Blocks that requests gave up on, by reason (deadlines, stalls, a policy) and the tier that was waited for.", "reason", "tier")
	t.jobs = f.counter("jobs_total", "Stores, promotions and cascades that have ended.", "kind", "tier", "outcome")
	t.blocks = f.counter("job_blocks_total", "Blocks of those jobs.", "kind", "tier", "outcome")
	t.declined = f.counter("declined_jobs_total", "Jobs that a saturated tier did not take.", "tier")
}

func (t *tiers) of(name string) *tierCounters {
	t.mu.RLock()
	c := t.byName[name]
	t.mu.RUnlock()
	if c != nil {
		return c
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if c = t.byName[name]; c != nil {
		return c
	}
	if len(t.byName) >= MaxTiers {
		if c = t.byName[other]; c != nil {
			return c
		}
		name = other
	}
	c = t.resolve(name)
	t.byName[name] = c
	return c
}

// resolve makes the counters of one tier. A name that is no UTF-8 would make Prometheus
// panic at each event.
func (t *tiers) resolve(name string) *tierCounters {
	name = strings.ToValidUTF8(name, "\uFFFD")
	c := &tierCounters{declined: t.declined.WithLabelValues(name)}
	for r := range c.gaveUp {
		c.gaveUp[r] = t.gaveUp.WithLabelValues(reasonLabel(lookup.Reason(r)), name)
	}
	for k := range c.jobs {
		kind := kindLabel(tiering.JobKind(k))
		for o := range c.jobs[k] {
			c.jobs[k][o] = t.jobs.WithLabelValues(kind, name, outcomeNames[o])
		}
		c.written[k] = t.blocks.WithLabelValues(kind, name, "written")
		c.failed[k] = t.blocks.WithLabelValues(kind, name, "failed")
	}
	return c
}
