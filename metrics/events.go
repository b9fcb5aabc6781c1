package metrics

import (
	"github.com/kvoffload/kvoffload/lookup"
	"github.com/kvoffload/kvoffload/tiering"
)

// Events returns the hooks that feed the collector, for tiering.Options.Events.
func (c *Collector) Events() tiering.Events {
	if c == nil || c.all == nil {
		return tiering.Events{}
	}
	return tiering.Events{
		Planned:   c.planned,
		WaitEnded: c.waitEnded,
		GaveUp:    func(e tiering.GaveUpEvent) { c.byTier.of(e.Tier).gaveUp[bounded(int(e.Reason), lookup.Reasons)].Inc() },
		JobEnded:  c.jobEnded,
		Declined:  func(e tiering.JobEvent) { c.byTier.of(e.Tier).declined.Inc() },
		Evicted:   func(tiering.EvictedEvent) { c.evictions.Inc() },
		Refused: func(e tiering.RefusedEvent) {
			c.refused[bounded(int(e.Kind), tiering.JobKinds)].Add(float64(max(e.Blocks, 0)))
		},
		Late:     func(e tiering.LateEvent) { c.late[bounded(int(e.Kind), tiering.JobKinds)].Inc() },
		Panicked: func(e tiering.PanicEvent) { c.faults[faultLabel(e.Where)].Inc() },
	}
}

// bounded maps what is not known to the place of "other".
func bounded(i, n int) int {
	if i < 0 || i >= n {
		return n
	}
	return i
}

// planned books a plan. Only what a question is answered with in the end counts as a
// lookup: a deferred request asks many times.
func (c *Collector) planned(e tiering.PlanEvent) {
	p := &e.Plan
	wait := p.Action == lookup.Wait
	if !wait || !e.Repeated {
		c.plans[bounded(int(p.Action), lookup.Actions)][bounded(int(p.Reason), lookup.Reasons)].Inc()
	}
	if wait {
		return
	}
	for r, n := range e.Answers {
		if n > 0 {
			c.answers[r].Add(float64(n))
		}
	}
	if p.Reason == lookup.ReasonBudget {
		c.cuts.Inc()
		c.cutTokens.Add(float64(max(p.Cut.Tokens, 0)))
	}
	c.loaded.Add(float64(max(p.Tokens, 0)))
	if p.Reason != lookup.ReasonRefused {
		c.recomputed.Add(float64(max(e.Tokens-e.Computed-p.Tokens, 0)))
	}
}

func (c *Collector) waitEnded(e tiering.WaitEvent) {
	w := waitOther
	switch e.For {
	case lookup.ReasonPending:
		w = waitPending
	case lookup.ReasonRetry:
		w = waitRetry
	}
	// A negative one would make the sum go down, which reads as a restart.
	c.waits[w].Observe(max(0, e.Waited.Seconds()))
}

func (c *Collector) jobEnded(e tiering.JobEvent) {
	t := c.byTier.of(e.Tier)
	kind := bounded(int(e.Kind), tiering.JobKinds)
	outcome := outcomePartial
	switch {
	case e.Failed <= 0:
		outcome = outcomeOK
	case e.Failed >= e.Blocks:
		outcome = outcomeFailed
	}
	t.jobs[kind][outcome].Inc()
	t.written[kind].Add(float64(max(e.Blocks-e.Failed, 0)))
	t.failed[kind].Add(float64(max(e.Failed, 0)))
}
