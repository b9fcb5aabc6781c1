package tiering

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kvoffload/kvoffload/lookup"
)

// tier is a Secondary and what the Manager remembers of it.
type tier struct {
	Secondary
	m     *Manager
	index int
	name  string

	// The rest is guarded by m.mu.

	// notices counts the calls of the function that Attach handed over.
	notices uint64
	waiters []waiter
	seen    *Request // who was registered in waiters last
	// failed holds the keys whose load failed, until when they are not asked for
	// again.
	failed map[lookup.Key]time.Duration
}

// maxFailed bounds tier.failed: 4 MB of keys. With more failures than that the
// memory is emptied: at worst some doomed promotions are tried once more.
const maxFailed = 1 << 16

func (m *Manager) addTier(s Secondary) error {
	name, err := nameOf(s)
	if err != nil {
		return fmt.Errorf("%w: Secondaries[%d].Name: %w", ErrOptions, len(m.tiers), err)
	}
	t := &tier{Secondary: s, m: m, index: len(m.tiers), name: name, failed: make(map[lookup.Key]time.Duration)}
	m.tiers = append(m.tiers, t)
	if n, ok := s.(Notifier); ok {
		err := m.contain("tier "+name+" Attach", func() error { n.Attach(t.changed); return nil })
		if err != nil {
			return fmt.Errorf("%w: %w", ErrOptions, err)
		}
	}
	return nil
}

// changed is what a Notifier calls: requests that wait for this tier to say whether
// it has a block are worth asking again.
func (t *tier) changed() {
	m := t.m
	m.mu.Lock()
	t.notices++
	m.changes++
	for _, w := range t.waiters {
		m.wake(w.request)
	}
	m.unlock()
}

// ask asks the tier for a block. No lock is held.
func (t *tier) ask(key lookup.Key) (answer lookup.Result) {
	defer func() {
		if v := recover(); v != nil {
			answer = lookup.Miss
			t.m.fault("tier "+t.name+" Lookup", v)
		}
	}()
	answer = t.Lookup(key)
	if answer == lookup.Pending || !answer.Valid() {
		t.m.fault("tier "+t.name+" Lookup", answer)
		return lookup.Miss
	}
	return answer
}

// blame remembers that a load of a block has failed.
func (t *tier) blame(key *lookup.Key, now time.Duration) {
	if len(t.failed) >= maxFailed {
		clear(t.failed)
	}
	t.failed[*key] = now + t.m.options.FailedLoadMemory
}

// forgive forgets it, since the block has been stored anew.
func (t *tier) forgive(key *lookup.Key) {
	if len(t.failed) > 0 {
		delete(t.failed, *key)
	}
}

// doubted reports whether a load of the block has failed shortly before.
func (t *tier) doubted(key *lookup.Key, now time.Duration) bool {
	if len(t.failed) == 0 {
		return false
	}
	until, ok := t.failed[*key]
	if ok && now >= until {
		delete(t.failed, *key)
		ok = false
	}
	return ok
}

// cascade is a block that is to be offered to a tier at the end of the step.
type cascade struct {
	tier    *tier
	request string
	key     lookup.Key
	block   BlockID
	gen     uint32
}

// cascade queues a stored block for every secondary.
func (m *Manager) cascade(j *Job, b *JobBlock) {
	if m.closed {
		return
	}
	// Where EndStep is not called the queue must not grow for ever. More than every
	// block for every tier can't be readable.
	if len(m.cascades) >= 2*m.pool.Len()*len(m.tiers) {
		m.cascades = slices.DeleteFunc(m.cascades, func(c cascade) bool { return !m.pool.Readable(c.block, c.gen) })
	}
	for _, t := range m.tiers {
		m.cascades = append(m.cascades, cascade{t, j.request, b.Key, b.Block, b.Generation})
	}
}

// EndStep hands over to the tiers what the step has queued: promotions, one job
// per tier and request, and then stored blocks to be copied. Call it at the end of
// every scheduler step, and before sleeping in Wait.
func (m *Manager) EndStep() {
	now := m.now()
	m.mu.Lock()
	promotions := m.flushing
	m.flushing = nil
	for _, j := range promotions {
		j.queued = false
		if j.owner != nil {
			j.owner.queued[j.tier.index] = nil
		}
	}
	cascades := m.cascadeJobs(now)
	m.unlock()
	for _, j := range promotions {
		m.hand(j, j.tier.Load, "Load")
	}
	for _, j := range cascades {
		m.hand(j, j.tier.Store, "Store")
	}
	for _, t := range m.tiers {
		if s, ok := t.Secondary.(Stepper); ok {
			_ = m.contain("tier "+t.name+" EndStep", func() error { s.EndStep(); return nil })
		}
	}
}

// hand gives a job to its tier.
func (m *Manager) hand(j *Job, method func(*Job) error, name string) {
	err := m.contain("tier "+j.tier.name+" "+name, func() error { return method(j) })
	if err == nil {
		return
	}
	m.mu.Lock()
	if errors.Is(err, ErrDeclined) {
		m.stats.Declined++
		if m.events.Declined != nil {
			m.queue = append(m.queue, declinedEvent(j.event(m.nowLocked())))
		}
	}
	if j.left > 0 {
		j.finishLocked(err)
	}
	m.check()
	m.unlock()
}

// cascadeJobs makes jobs of the queued blocks that are still there, one per tier
// and request, and claims the blocks for them.
func (m *Manager) cascadeJobs(now time.Duration) []*Job {
	if len(m.cascades) == 0 {
		return nil
	}
	type of struct {
		tier    *tier
		request string
	}
	open := make(map[of]*Job)
	var jobs []*Job
	for _, c := range m.cascades {
		if !m.pool.Readable(c.block, c.gen) || !m.pool.Claim(c.block) {
			continue
		}
		j := open[of{c.tier, c.request}]
		if j == nil {
			j = &Job{m: m, kind: CascadeJob, tier: c.tier, request: c.request, started: now}
			m.jobs.add(j)
			open[of{c.tier, c.request}] = j
			jobs = append(jobs, j)
		}
		j.add(JobBlock{Key: c.key, Block: c.block, Generation: c.gen, Index: j.Len()})
	}
	m.cascades = m.cascades[:0]
	return jobs
}

// promote reserves a block for a key that a tier has, and queues the promotion.
// The caller holds the lock and knows that the primary does not have the key. It
// reports whether there was room.
func (r *Request) promote(t *tier, key *lookup.Key, now time.Duration) bool {
	m := r.m
	if limit := m.options.Primary.PromotionBlocks; limit != NoLimit && m.promoting >= limit {
		m.refuse(r, PromotionJob, 1)
		return false
	}
	j := r.queued[t.index]
	if j == nil {
		j = &Job{m: m, kind: PromotionJob, tier: t, request: r.id, owner: r, started: now}
		m.jobs.add(j)
	}
	s, ok := m.reserve(key, j.index)
	if !ok {
		if len(j.blocks) == 0 {
			m.jobs.remove(j)
		}
		m.refuse(r, PromotionJob, 1)
		return false
	}
	if !j.queued {
		j.queued = true
		r.queued[t.index] = j
		r.owned = append(r.owned, j)
		m.flushing = append(m.flushing, j)
	}
	j.add(JobBlock{Key: *key, Block: s, Generation: m.pool.Gen(s), Index: j.Len()})
	m.promoting++
	m.changes++
	return true
}

// refuse books blocks that found no room.
func (m *Manager) refuse(r *Request, kind JobKind, blocks int) {
	if kind == StoreJob {
		m.stats.StoreRefusals += uint64(blocks)
	} else {
		m.stats.PromotionRefusals += uint64(blocks)
	}
	if m.events.Refused != nil {
		m.queue = append(m.queue, RefusedEvent{Request: r.id, Kind: kind, Blocks: blocks})
	}
}
