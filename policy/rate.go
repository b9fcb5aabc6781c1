package policy

import (
	"sync"
	"time"

	"github.com/kvoffload/kvoffload/lookup"
)

// Rate is a token bucket: it holds at most a burst of tokens, starts full, and
// gains so many a second. It is driven by Snapshot.Now and reads no clock; a Now
// smaller than one already charged at refills nothing.
//
// A Rate is safe for concurrent use and may be shared by policies, but only by
// those that are asked with the same clock (one Manager).
//
// Deciding only looks; what took effect is charged afterwards. Two requests that
// are decided upon at the same time may therefore both find the bucket full. It
// then goes below empty and the debt is paid off first, so the rate holds on
// average. A cut that needs more than the burst is allowed when the bucket is full
// and also leaves a debt: nothing is too long to be ever allowed.
type Rate struct {
	perSecond int64 // tokens, which is also tokenNanos per nanosecond
	capacity  int64 // tokenNanos

	mu    sync.Mutex
	level int64 // tokenNanos at last; down to -maxDebt
	last  time.Duration
}

// The bucket counts in billionths of a token, so that it is exact at any rate.
const (
	tokenNanos = int64(time.Second)
	// maxDebt is what the longest request there can be costs. It keeps all sums
	// inside an int64.
	maxDebt = lookup.MaxTokens * tokenNanos
)

// NewRate returns a full bucket. Both numbers must be between 1 and
// lookup.MaxTokens; the error reports every fault and wraps [ErrPolicy].
func NewRate(tokensPerSecond, burst int) (*Rate, error) {
	var f faults
	if tokensPerSecond < 1 || tokensPerSecond > lookup.MaxTokens {
		f.add("Rate's tokensPerSecond is %d, want 1 to %d", tokensPerSecond, lookup.MaxTokens)
	}
	if burst < 1 || burst > lookup.MaxTokens {
		f.add("Rate's burst is %d, want 1 to %d", burst, lookup.MaxTokens)
	}
	if err := f.err(); err != nil {
		return nil, wrap(err)
	}
	r := &Rate{perSecond: int64(tokensPerSecond), capacity: int64(burst) * tokenNanos}
	r.level = r.capacity
	return r, nil
}

// wait returns how long after now the bucket holds tokens, or is full if it can't
// hold so many. tokens is between 0 and lookup.MaxTokens.
func (r *Rate) wait(now time.Duration, tokens int) time.Duration {
	now = max(now, 0)
	r.mu.Lock()
	defer r.mu.Unlock()
	missing := min(int64(tokens)*tokenNanos, r.capacity) - r.levelAt(now)
	if missing <= 0 || r.perSecond == 0 {
		return 0
	}
	wait := time.Duration(divideUp(missing, r.perSecond))
	if now < r.last {
		wait = addDurations(wait, r.last-now)
	}
	return wait
}

// take charges for tokens, between 0 and lookup.MaxTokens, whether the bucket
// holds them or not.
func (r *Rate) take(now time.Duration, tokens int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.level = max(r.levelAt(now)-int64(tokens)*tokenNanos, -maxDebt)
	r.last = max(r.last, now)
}

func (r *Rate) levelAt(now time.Duration) int64 {
	elapsed := int64(now - r.last)
	if now <= r.last || r.perSecond == 0 {
		return r.level
	}
	if elapsed >= divideUp(r.capacity-r.level, r.perSecond) {
		return r.capacity
	}
	return r.level + elapsed*r.perSecond
}

// divideUp divides, rounding up. It is for a >= 0 and b > 0.
func divideUp(a, b int64) int64 {
	q := a / b
	if a%b != 0 {
		q++
	}
	return q
}
