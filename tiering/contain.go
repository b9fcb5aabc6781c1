package tiering

import (
	"fmt"

	"github.com/kvoffload/kvoffload/lookup"
	"github.com/kvoffload/kvoffload/policy"
)

// What a user's code does wrong ends here: it is recovered, counted, reported, and
// replaced by the answer that costs a recompute.

// fault books a contained fault. No lock is held.
func (m *Manager) fault(where string, value any) {
	m.mu.Lock()
	m.stats.Faults++
	if m.events.Panicked != nil {
		m.queue = append(m.queue, PanicEvent{Where: where, Value: value})
	}
	m.unlock()
}

// containedPolicy is the user's policy without its panics.
type containedPolicy struct {
	m      *Manager
	policy policy.Policy
}

func (c containedPolicy) Decide(s policy.Snapshot) (d policy.Decision) {
	defer func() {
		if v := recover(); v != nil {
			d = policy.Decision{Verdict: policy.Recompute, Reason: lookup.ReasonRefused}
			c.m.fault("policy", v)
		}
	}()
	return c.policy.Decide(s)
}

// Commit forwards to a policy that keeps an account.
func (c containedPolicy) Commit(s policy.Snapshot) {
	defer func() {
		if v := recover(); v != nil {
			c.m.fault("policy", v)
		}
	}()
	if a, ok := c.policy.(policy.Accountant); ok {
		a.Commit(s)
	}
}

// contain calls f and returns a panic as an error.
func (m *Manager) contain(where string, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("tiering: %s panicked: %v", where, v)
			m.fault(where, v)
		}
	}()
	return f()
}

// fire calls the hook for one event. No lock is held.
func (m *Manager) fire(event any) {
	defer m.containHook(event)
	switch e := event.(type) {
	case WaitEvent:
		m.events.WaitEnded(e)
	case GaveUpEvent:
		m.events.GaveUp(e)
	case JobEvent:
		m.events.JobEnded(e)
	case declinedEvent:
		m.events.Declined(JobEvent(e))
	case EvictedEvent:
		m.events.Evicted(e)
	case RefusedEvent:
		m.events.Refused(e)
	case LateEvent:
		m.events.Late(e)
	case PanicEvent:
		m.events.Panicked(e)
	}
}

// firePlanned calls the hook of the hot path, without boxing its event.
func (m *Manager) firePlanned(e *PlanEvent) {
	defer m.containHook(nil)
	m.events.Planned(*e)
}

// declinedEvent tells a declined job from one that has ended.
type declinedEvent JobEvent

// containHook is deferred around a hook. A hook that panics on the report of a
// panic is not reported to again.
func (m *Manager) containHook(event any) {
	v := recover()
	if v == nil {
		return
	}
	if _, again := event.(PanicEvent); !again {
		m.fault("hook", v)
		return
	}
	m.mu.Lock()
	m.stats.Faults++
	m.mu.Unlock()
}
