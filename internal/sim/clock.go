package sim

import (
	"container/heap"
	"time"

	"github.com/benbjohnson/clock"
)

// virtualClock is the time of a simulation. It only tells it: stepping costs nothing,
// where a clock.Mock sleeps a millisecond for each step. What waits on a clock (timers,
// Sleep) is not used by the model.
type virtualClock struct {
	clock.Clock
	now time.Duration
}

var epoch = time.Unix(0, 0)

func newClock() *virtualClock { return &virtualClock{Clock: clock.NewMock()} }

func (c *virtualClock) Now() time.Time                  { return epoch.Add(c.now) }
func (c *virtualClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }
func (c *virtualClock) Until(t time.Time) time.Duration { return t.Sub(c.Now()) }

// agenda is what is going to happen, in order; what is due at the same time happens in
// the order in which it was planned.
type agenda struct {
	clock *virtualClock
	items agendaHeap
	count uint64
}

type item struct {
	at     time.Duration
	number uint64
	do     func()
}

// plan makes do happen at a time, now at the earliest.
func (a *agenda) plan(at time.Duration, do func()) {
	a.count++
	heap.Push(&a.items, item{max(at, a.clock.now), a.count, do})
}

// next returns when the next thing happens.
func (a *agenda) next() (time.Duration, bool) {
	if len(a.items) == 0 {
		return 0, false
	}
	return a.items[0].at, true
}

// advance lets time pass until then, and everything due happen.
func (a *agenda) advance(to time.Duration) {
	for len(a.items) > 0 && a.items[0].at <= to {
		i := heap.Pop(&a.items).(item)
		a.clock.now = i.at
		i.do()
	}
	a.clock.now = max(a.clock.now, to)
}

type agendaHeap []item

func (h agendaHeap) Len() int { return len(h) }
func (h agendaHeap) Less(i, j int) bool {
	if h[i].at != h[j].at {
		return h[i].at < h[j].at
	}
	return h[i].number < h[j].number
}
func (h agendaHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *agendaHeap) Push(x any)   { *h = append(*h, x.(item)) }
func (h *agendaHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	old[len(old)-1] = item{}
	*h = old[:len(old)-1]
	return x
}
