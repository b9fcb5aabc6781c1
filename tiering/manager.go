package tiering

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/kvoffload/kvoffload/lookup"
	"github.com/kvoffload/kvoffload/policy"
	"github.com/kvoffload/kvoffload/tiering/internal/pool"
)

// BlockID is the number of a block in the primary, from 0 to
// PrimaryOptions.Blocks-1. Where that block's bytes are is the user's affair.
type BlockID = pool.Slot

// Manager keeps the books of the tiers. Make it with New.
type Manager struct {
	options Options
	layout  lookup.Layout
	scanner *lookup.Scanner
	policy  containedPolicy
	events  Events
	tiers   []*tier
	time    timekeeper

	changed chan struct{}

	mu         sync.Mutex
	closed     bool
	pool       *pool.Pool
	generation uint64 // of the weights: Reset starts a new one
	changes    uint64 // counts everything that can change an answer
	jobs       jobTable
	promoting  int // blocks of promotions in flight, and landed but unread
	flushing   []*Job
	cascades   []cascade
	parked     parkedHeap
	ready      []*Request
	stats      Stats
	queue      []any // events to be fired once the lock is released
}

// New makes a Manager. The options are copied, their defaults filled in and then
// checked; every fault is in the one error, which wraps [ErrOptions].
func New(options Options) (*Manager, error) {
	o := options.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	scanner, err := lookup.NewScanner(o.Layout)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOptions, err)
	}
	m := &Manager{
		options: o,
		layout:  scanner.Layout(),
		scanner: scanner,
		events:  o.Events,
		changed: make(chan struct{}, 1),
		pool:    pool.New(o.Primary.Blocks, [4]uint64{rand.Uint64(), rand.Uint64(), rand.Uint64(), rand.Uint64()}),
	}
	m.policy = containedPolicy{m, policy.Any(policy.Stalled{After: o.StalledAfter}, policy.Bounded(o.Policy))}
	if p := m.time.start(o.Clock); p != nil {
		return nil, fmt.Errorf("%w: Clock.Now panicked: %v", ErrOptions, p)
	}
	for _, s := range o.Secondaries {
		if err := m.addTier(s); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Close ends the Manager: requests are refused from then on, jobs not yet handed
// to a tier are dropped, and everybody in Wait returns. Jobs in flight may still
// report; nothing is waited for. A second Close returns [ErrClosed].
func (m *Manager) Close() error {
	m.mu.Lock()
	if m.closed {
		m.unlock()
		return ErrClosed
	}
	m.closed = true
	m.changes++
	m.dropQueued(ErrClosed)
	m.signal()
	m.unlock()
	return nil
}

// Reset starts anew, because the weights or anything else that all KV depends on
// has changed: nothing written before is served after. Blocks whose write is in
// flight or that are claimed are reused only when that has ended. Requests begun
// before are refused with [ErrReset]: end them and begin them anew. Secondaries
// are not emptied; give them keys that depend on the weights.
func (m *Manager) Reset() {
	m.mu.Lock()
	m.generation++
	m.changes++
	m.stats.Resets++
	m.pool.ForgetAll()
	m.dropQueued(ErrReset)
	for len(m.parked) > 0 {
		m.wake(m.parked[0])
		m.parked.remove(m.parked[0])
	}
	m.check()
	m.unlock()
}

// dropQueued fails what has not been handed to a tier yet.
func (m *Manager) dropQueued(err error) {
	m.cascades = m.cascades[:0]
	for _, j := range m.flushing {
		j.queued = false
		if j.owner != nil {
			j.owner.queued[j.tier.index] = nil
		}
		j.finishLocked(err)
	}
	m.flushing = m.flushing[:0]
}

// Touch makes the given keys the newest, from the last to the first, so that the
// first is evicted last. Keys that the primary does not have are skipped.
func (m *Manager) Touch(keys []lookup.Key) {
	m.mu.Lock()
	for i := len(keys) - 1; i >= 0; i-- {
		if s, state := m.pool.Find(&keys[i]); state != pool.Free {
			m.pool.Touch(s)
		}
	}
	m.unlock()
}

// now reads the clock once. No lock is held.
func (m *Manager) now() time.Duration {
	now, panicked := m.time.read()
	if panicked != nil {
		m.fault("clock", panicked)
	}
	return now
}

// unlock releases the lock and fires what was queued under it.
func (m *Manager) unlock() {
	if len(m.queue) == 0 {
		m.mu.Unlock()
		return
	}
	queue := m.queue
	m.queue = nil
	m.mu.Unlock()
	for _, e := range queue {
		m.fire(e)
	}
}

// reserve takes a block for a key that the primary does not have, counting and
// reporting what it evicts. The caller holds the lock.
func (m *Manager) reserve(key *lookup.Key, owner uint32) (BlockID, bool) {
	s, victim, evicted, ok := m.pool.Reserve(key, owner)
	if evicted {
		m.changes++
		m.stats.Evictions++
		if m.events.Evicted != nil {
			m.queue = append(m.queue, EvictedEvent{Key: victim, Block: s})
		}
	}
	return s, ok
}

// BlockInfo describes one block in use, for people and for indexes.
type BlockInfo struct {
	Key        lookup.Key
	Block      BlockID
	Generation uint32
	// Result is Hit or Pending.
	Result lookup.Result
	// Evictable says that a Hit is claimed by nobody.
	Evictable bool
	// Job is the job that writes a Pending block, and Age how long it has been in
	// flight.
	Job uint64
	Age time.Duration
}

// AppendBlocks appends all blocks in use, in the order of eviction: the oldest
// first. It holds the lock for as long as that takes.
func (m *Manager) AppendBlocks(dst []BlockInfo) []BlockInfo {
	now := m.now()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.pool.AppendOrder(nil) {
		info := BlockInfo{Key: m.pool.Key(s), Block: s, Generation: m.pool.Gen(s), Evictable: m.pool.Evictable(s)}
		info.Result = m.state(&info.Key)
		if info.Result == lookup.Pending {
			j := m.writer(s)
			info.Job, info.Age = j.id, now-j.started
		}
		dst = append(dst, info)
	}
	return dst
}
