package tiering

import (
	"container/heap"
	"context"
	"math"
	"time"

	"github.com/benbjohnson/clock"
)

// A request that was told to wait is parked until the next time it asks. It is
// registered with every job and tier that it waits for, and in a heap by the time at
// which it is worth asking again anyway. When one of these moves, the request goes
// to the ready list, once.

// waiter is an entry in a list of those to be woken: the request, and where in the
// request's own list the entry is known, so that both ends are removed in O(1).
type waiter struct {
	request *Request
	place   int
}

// waitingOn is the other end of a waiter: exactly one of job and tier is set.
type waitingOn struct {
	job   *Job
	tier  *tier
	place int
}

func (w waitingOn) list() *[]waiter {
	if w.job != nil {
		return &w.job.waiters
	}
	return &w.tier.waiters
}

// seen is who was registered last.
func (w waitingOn) seen() **Request {
	if w.job != nil {
		return &w.job.seen
	}
	return &w.tier.seen
}

// waitFor registers a request with a job or a tier. The caller holds the lock.
func (r *Request) waitFor(j *Job, t *tier) {
	w := waitingOn{job: j, tier: t}
	seen := w.seen()
	if *seen == r {
		return // a scan meets the blocks of one job one after the other
	}
	*seen = r
	list := w.list()
	w.place = len(*list)
	*list = append(*list, waiter{r, len(r.waitsOn)})
	r.waitsOn = append(r.waitsOn, w)
}

// unregister removes entry i of r.waitsOn and its other end. The last entry of
// each list takes the removed one's place.
func (r *Request) unregister(i int) {
	w := r.waitsOn[i]
	if seen := w.seen(); *seen == r {
		*seen = nil
	}
	list := w.list()
	last := len(*list) - 1
	moved := (*list)[last]
	(*list)[last] = waiter{}
	*list = (*list)[:last]
	if w.place != last {
		(*list)[w.place] = moved
		moved.request.waitsOn[moved.place].place = w.place
	}
	end := len(r.waitsOn) - 1
	tail := r.waitsOn[end]
	r.waitsOn[end] = waitingOn{}
	r.waitsOn = r.waitsOn[:end]
	if i != end {
		r.waitsOn[i] = tail
		(*tail.list())[tail.place].place = i
	}
}

// unregisterAll takes a request off every list.
func (r *Request) unregisterAll() {
	for len(r.waitsOn) > 0 {
		r.unregister(len(r.waitsOn) - 1)
	}
}

// park puts a request to sleep until it is woken or due.
func (m *Manager) park(r *Request, due time.Duration) {
	r.due = due
	m.parked.add(r)
	if r.woken {
		r.woken = false
		m.wake(r)
	}
}

// unpark takes a request out of everything that could wake it.
func (m *Manager) unpark(r *Request) {
	r.woken = false
	r.unregisterAll()
	m.parked.remove(r)
	if r.isReady {
		r.isReady = false
		for i, other := range m.ready {
			if other == r {
				m.ready = append(m.ready[:i], m.ready[i+1:]...)
				break
			}
		}
	}
}

// wake makes a request worth asking again. One that is not parked yet, because its
// plan is still being made, is marked, and will not sleep.
func (m *Manager) wake(r *Request) {
	switch {
	case r.heapIndex < 0:
		r.woken = true
	case !r.isReady:
		r.isReady = true
		m.ready = append(m.ready, r)
		m.signal()
	}
}

// signal leaves a note in Changed.
func (m *Manager) signal() {
	select {
	case m.changed <- struct{}{}:
	default:
	}
}

// Changed returns a channel that gets a value when a parked request has become
// worth asking again. It holds one value: many changes may be one.
func (m *Manager) Changed() <-chan struct{} { return m.changed }

// Ready appends to dst the parked requests that are worth asking again: those whose
// answer may have changed, and those whose Plan.Until has passed. Each is reported
// once until it has asked again.
func (m *Manager) Ready(dst []*Request) []*Request {
	now := m.now()
	m.mu.Lock()
	for len(m.parked) > 0 && m.parked[0].due <= now {
		r := m.parked[0]
		r.due = never
		heap.Fix(&m.parked, 0)
		if !r.isReady {
			r.isReady = true
			m.ready = append(m.ready, r)
		}
	}
	for _, r := range m.ready {
		r.isReady = false
		dst = append(dst, r)
	}
	clear(m.ready)
	m.ready = m.ready[:0]
	m.unlock()
	return dst
}

// never is the due time of a request that only a change can wake.
const never = time.Duration(math.MaxInt64)

// NextWake returns how long it is until a parked request is worth asking again even
// if nothing changes: zero if one is now. It reports false if there is no such time.
func (m *Manager) NextWake() (time.Duration, bool) {
	now := m.now()
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.nextWake(now)
}

func (m *Manager) nextWake(now time.Duration) (time.Duration, bool) {
	if len(m.ready) > 0 {
		return 0, true
	}
	if len(m.parked) == 0 || m.parked[0].due == never {
		return 0, false
	}
	return max(0, m.parked[0].due-now), true
}

// Wait sleeps until a parked request is worth asking again. It returns nil then,
// the context's error when that ends first, and [ErrClosed] when the Manager is
// closed. It is for a scheduler that has nothing else to do; one that has selects on
// Changed and a timer of NextWake. One goroutine at a time should wait.
func (m *Manager) Wait(ctx context.Context) error {
	for {
		now := m.now()
		m.mu.Lock()
		closed := m.closed
		d, ok := m.nextWake(now)
		m.mu.Unlock()
		if closed {
			m.signal() // for others that wait
			return ErrClosed
		}
		if ok && d == 0 {
			return nil
		}
		if err := m.sleep(ctx, d, ok); err != nil {
			return err
		}
	}
}

// sleep returns when something has changed or, if bounded, d has passed.
func (m *Manager) sleep(ctx context.Context, d time.Duration, bounded bool) error {
	var due <-chan time.Time
	if bounded {
		var timer *clock.Timer
		err := m.contain("clock", func() error { timer = m.options.Clock.Timer(d); return nil })
		if err != nil {
			return err
		}
		defer timer.Stop()
		due = timer.C
		// The clock may have moved between the reading and the timer.
		if left, ok := m.NextWake(); ok && left == 0 {
			return nil
		}
	}
	select {
	case <-m.changed:
	case <-due:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// parkedHeap orders parked requests by when they are due.
type parkedHeap []*Request

func (h parkedHeap) Len() int           { return len(h) }
func (h parkedHeap) Less(i, j int) bool { return h[i].due < h[j].due }
func (h parkedHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].heapIndex, h[j].heapIndex = i, j
}
func (h *parkedHeap) Push(x any) {
	r := x.(*Request)
	r.heapIndex = len(*h)
	*h = append(*h, r)
}
func (h *parkedHeap) Pop() any {
	last := len(*h) - 1
	r := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	r.heapIndex = -1
	return r
}

func (h *parkedHeap) add(r *Request) { heap.Push(h, r) }

func (h *parkedHeap) remove(r *Request) {
	if r.heapIndex >= 0 {
		heap.Remove(h, r.heapIndex)
	}
}
