package tiering

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/benbjohnson/clock"
)

// timekeeper turns readings of the user's clock into time since the Manager was
// made, which never goes back. After a jump back, time goes on from the last
// reading: a wait that has been seen to last so long is not lengthened.
type timekeeper struct {
	clock clock.Clock

	// mu orders readings. It is only tried: whoever finds it taken, be it that
	// another goroutine is reading just now or that the clock called back into
	// the Manager, makes do with the reading before.
	mu   sync.Mutex
	last time.Time
	now  atomic.Int64
}

func (t *timekeeper) start(c clock.Clock) (panicked any) {
	t.clock = c
	t.last, panicked = readClock(c)
	return panicked
}

// read returns the time since start. If the clock panics, it is the time of the
// reading before.
func (t *timekeeper) read() (now time.Duration, panicked any) {
	if !t.mu.TryLock() {
		return time.Duration(t.now.Load()), nil
	}
	defer t.mu.Unlock()
	at, panicked := readClock(t.clock)
	if panicked != nil {
		return time.Duration(t.now.Load()), panicked
	}
	if passed := at.Sub(t.last); passed > 0 {
		// Readings years apart would overflow in the end.
		if sum := t.now.Load() + int64(passed); sum > 0 {
			t.now.Store(sum)
		}
	}
	t.last = at
	return time.Duration(t.now.Load()), nil
}

func readClock(c clock.Clock) (at time.Time, panicked any) {
	defer func() { panicked = recover() }()
	return c.Now(), nil
}
