package tiering

import (
	"fmt"
	"strconv"
	"time"

	"github.com/kvoffload/kvoffload/lookup"
	"github.com/kvoffload/kvoffload/tiering/internal/pool"
)

// JobKind says between which tiers a job moves blocks.
type JobKind uint8

const (
	// StoreJob: from the device to the primary. The server does it.
	StoreJob JobKind = iota
	// PromotionJob: from a secondary to the primary.
	PromotionJob
	// CascadeJob: from the primary to a secondary.
	CascadeJob

	// JobKinds is how many kinds there are.
	JobKinds = iota
)

// String returns "store", "promotion", "cascade", or "job(n)" for any other value.
func (k JobKind) String() string {
	switch k {
	case StoreJob:
		return "store"
	case PromotionJob:
		return "promotion"
	case CascadeJob:
		return "cascade"
	}
	return "job(" + strconv.Itoa(int(k)) + ")"
}

// JobBlock is one block of a job.
type JobBlock struct {
	Key lookup.Key
	// Block is where in the primary it is written, or read from.
	Block BlockID
	// Generation counts the uses of Block. Until the job reports the block done,
	// the place belongs to this job alone; from then on the job must not touch it.
	Generation uint32
	// Index is the block's index in the keys of the Store call; in other jobs it
	// equals its index in the job.
	Index int
}

// Job is a transfer of blocks: what is to be copied where, and the way to report.
// Whoever does it calls Done for each block as it ends, or Finish once for all. It
// is safe for concurrent use. A report that comes late, twice, or for a block that
// the job does not have changes nothing, is counted, and gets an [ErrJob].
type Job struct {
	m       *Manager
	id      uint64
	index   uint32 // in m.jobs
	kind    JobKind
	tier    *tier // nil for a store
	request string
	blocks  []JobBlock

	// The rest is guarded by m.mu.
	owner   *Request // who reads what is promoted; nil once it has ended
	open    []bool   // blocks not yet reported
	left    int      // how many
	failed  int
	err     error
	started time.Duration
	queued  bool // not yet handed to the tier
	waiters []waiter
	seen    *Request // who was registered in waiters last
}

// ID returns the job's number, unique in its Manager.
func (j *Job) ID() uint64 { return j.id }

// Kind returns what is moved where.
func (j *Job) Kind() JobKind { return j.kind }

// Tier returns the name of the secondary, or [PrimaryName] for a store.
func (j *Job) Tier() string {
	if j.tier == nil {
		return PrimaryName
	}
	return j.tier.name
}

// Request returns the ID of the request that caused the job.
func (j *Job) Request() string { return j.request }

// Len returns how many blocks the job has. A store that has nothing to write has
// none, and has ended already.
func (j *Job) Len() int { return len(j.blocks) }

// Block returns block i, 0 <= i < Len; the zero JobBlock for any other i.
func (j *Job) Block(i int) JobBlock {
	if i < 0 || i >= len(j.blocks) {
		return JobBlock{}
	}
	return j.blocks[i]
}

// Done reports that block i is written (nil) or has failed. A written block is
// readable from then on, a failed one a miss.
func (j *Job) Done(i int, err error) error {
	if i < 0 || i >= len(j.blocks) {
		return j.late(fmt.Errorf("%w: block %d of %d", ErrJob, i, len(j.blocks)))
	}
	now := j.m.now()
	j.m.mu.Lock()
	if j.left == 0 || !j.open[i] {
		j.m.unlock()
		return j.late(fmt.Errorf("%w: block %d has been reported", ErrJob, i))
	}
	j.doneLocked(i, err)
	j.endIfDone(now)
	j.m.check()
	j.m.unlock()
	return nil
}

// Finish reports all blocks not yet reported: written (nil) or failed. A job whose
// every block has been reported has ended; to finish it again is an [ErrJob], unless
// it never had a block.
func (j *Job) Finish(err error) error {
	if len(j.blocks) == 0 {
		return nil
	}
	j.m.now()
	j.m.mu.Lock()
	if j.left == 0 {
		j.m.unlock()
		return j.late(fmt.Errorf("%w: job %d has ended", ErrJob, j.id))
	}
	j.finishLocked(err)
	j.m.check()
	j.m.unlock()
	return nil
}

func (j *Job) finishLocked(err error) {
	now := j.m.nowLocked()
	for i := range j.open {
		if j.open[i] {
			j.doneLocked(i, err)
		}
	}
	j.endIfDone(now)
}

// late books a report that changes nothing.
func (j *Job) late(err error) error {
	m := j.m
	m.mu.Lock()
	m.stats.Late++
	if m.events.Late != nil {
		m.queue = append(m.queue, LateEvent{Job: j.id, Kind: j.kind, Tier: j.Tier()})
	}
	m.unlock()
	return err
}

// doneLocked books the end of block i.
func (j *Job) doneLocked(i int, err error) {
	m, b := j.m, &j.blocks[i]
	j.open[i] = false
	j.left--
	m.changes++
	if err != nil {
		j.failed++
		if j.err == nil {
			j.err = err
		}
	}
	switch {
	case j.kind == CascadeJob:
		m.pool.Release(b.Block)
	case !m.pool.Writing(b.Block, b.Generation):
		// Can't be: the place is the job's until it reports.
		m.stats.Late++
	case err != nil:
		m.pool.Drop(b.Block)
		j.notLanded(b)
	default:
		m.pool.Commit(b.Block)
		j.landed(b)
	}
	j.count(err != nil)
	for _, w := range j.waiters {
		m.wake(w.request)
	}
}

// landed books a block that has become readable, unless Reset overtook it.
func (j *Job) landed(b *JobBlock) {
	m := j.m
	readable := m.pool.Readable(b.Block, b.Generation)
	switch {
	case j.kind == PromotionJob && readable && j.owner != nil && m.pool.Claim(b.Block):
		j.owner.holds = append(j.owner.holds, b.Block)
	case j.kind == PromotionJob:
		m.promoting--
	case readable:
		for _, t := range m.tiers {
			t.forgive(&b.Key)
		}
		m.cascade(j, b)
	}
}

// notLanded books a block that could not be written.
func (j *Job) notLanded(b *JobBlock) {
	if j.kind == PromotionJob {
		j.m.promoting--
		j.tier.blame(&b.Key, j.m.nowLocked())
	}
}

func (j *Job) count(failed bool) {
	s := &j.m.stats
	counter := [JobKinds][2]*uint64{
		{&s.Stored, &s.StoresFailed}, {&s.Promoted, &s.PromotionsFailed}, {&s.Cascaded, &s.CascadesFailed},
	}[j.kind]
	if failed {
		*counter[1]++
	} else {
		*counter[0]++
	}
}

// endIfDone lets go of a job whose every block has been reported.
func (j *Job) endIfDone(now time.Duration) {
	if j.left > 0 {
		return
	}
	m := j.m
	for len(j.waiters) > 0 {
		w := j.waiters[len(j.waiters)-1]
		w.request.unregister(w.place)
	}
	j.waiters, j.seen = nil, nil
	if j.owner != nil {
		j.owner.disown(j)
	}
	m.jobs.remove(j)
	if m.events.JobEnded != nil {
		m.queue = append(m.queue, j.event(now))
	}
}

func (j *Job) event(now time.Duration) JobEvent {
	return JobEvent{
		Job: j.id, Kind: j.kind, Request: j.request, Tier: j.Tier(),
		Blocks: len(j.blocks), Failed: j.failed, Took: now - j.started, Err: j.err,
	}
}

// add appends a block. The job has not been handed out yet.
func (j *Job) add(b JobBlock) {
	j.blocks = append(j.blocks, b)
	j.open = append(j.open, true)
	j.left++
}

// nowLocked is the time of the last reading, for when the lock is held and the
// user's clock must not be called.
func (m *Manager) nowLocked() time.Duration { return time.Duration(m.time.now.Load()) }

// jobTable numbers the jobs in flight, so that a block being written can name its
// job in one word.
type jobTable struct {
	jobs   []*Job
	free   []uint32
	live   int
	nextID uint64
}

func (t *jobTable) add(j *Job) {
	t.nextID++
	t.live++
	j.id = t.nextID
	if n := len(t.free); n > 0 {
		j.index = t.free[n-1]
		t.free = t.free[:n-1]
		t.jobs[j.index] = j
		return
	}
	j.index = uint32(len(t.jobs))
	t.jobs = append(t.jobs, j)
}

func (t *jobTable) remove(j *Job) {
	t.jobs[j.index] = nil
	t.free = append(t.free, j.index)
	t.live--
}

// writer returns the job that writes a pending block.
func (m *Manager) writer(s pool.Slot) *Job { return m.jobs.jobs[m.pool.Owner(s)] }
