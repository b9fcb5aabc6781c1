package policy

import (
	"cmp"
	"math"
	"math/bits"
	"time"

	"github.com/kvoffload/kvoffload/lookup"
)

// NoLimit, where a Deadline wants a bound, is no bound at all.
const NoLimit time.Duration = math.MaxInt64

// The defaults of [Deadline].
const (
	// DefaultPerKey. Not smaller: a whole 32k prompt takes 0.25 s to be stored
	// alone, but N x 0.18 s behind N others, and one write to slow remote storage
	// 2.2 s; a bound below the slowest honest transfer throws away hits that are
	// about to land. Not larger: 5 s of prefill is 55,000 to 110,000 tokens of an
	// 8B-class model, so a longer wait loses to computing all but the longest
	// prompts. A tier with a longer bound of its own (peer to peer: 30 s) wants a
	// PerKey above that.
	DefaultPerKey = 5 * time.Second
	// DefaultPerRetry. Not smaller: other systems give up on an existence check
	// after 3 s, and a batch of 3,600 keys on a busy filesystem has been seen to
	// take 10 s, most of it for nothing. Not larger: until a tier has said yes
	// there is less reason to wait than for a transfer.
	DefaultPerRetry = 5 * time.Second
	// DefaultPerRequest. Not smaller: it is one full wait for a tier to say yes
	// and one for the transfer, or for two keys met one after the other. Not
	// larger: in 10 s a prompt of 64K tokens is computed on all but the smallest
	// devices, and users notice; the stalls reported from production (60 s, 373 s,
	// client timeouts at 300 s) all came of having no such bound.
	DefaultPerRequest = 10 * time.Second
	// DefaultMax caps the linear form, as in the system it is known from: without
	// a cap, 0.1 s a thousand tokens and more become minutes at a million tokens.
	DefaultMax = 30 * time.Second
)

// Deadline bounds waits in time. It acts on single blocks: past a bound the block
// is given up until the request ends, past the request's bound all that is
// unresolved. That costs a recompute and nothing else; what is in flight goes on
// and is used by whoever asks once it is there.
//
// The zero Deadline has the default bounds. With Base or PerThousandTokens, bounds
// grow with the request: min(Max, Base + PerThousandTokens*Tokens/1000), in place
// of the default of each bound that is not set. A bound that is set is used as it
// is.
type Deadline struct {
	// PerKey bounds the wait for a Pending block, from when this request first saw
	// it unresolved. Default DefaultPerKey; NoLimit: none.
	PerKey time.Duration
	// PerRetry bounds the wait for a Retry block, from the same moment: that a
	// block turns from Retry to Pending, or back, restarts nothing. Default
	// DefaultPerRetry; NoLimit: none.
	PerRetry time.Duration
	// PerRequest bounds all waiting of a request, from when it was first deferred.
	// Default DefaultPerRequest; NoLimit: none.
	PerRequest time.Duration

	// Base and PerThousandTokens are the linear form. Default zero: not used. With
	// a zero Base a short prompt waits for next to nothing.
	Base, PerThousandTokens time.Duration
	// Max caps the linear form. Default DefaultMax; NoLimit: no cap.
	Max time.Duration
}

// Decide ends the wait for a block whose age has reached a bound. Where both its
// own bound and the request's have been reached, the reason is its own.
func (d Deadline) Decide(s Snapshot) Decision { return d.decide(&s) }

// decide is apart from Decide so that calls through the interface copy less.
func (d *Deadline) decide(s *Snapshot) Decision {
	if s.Scope != Block {
		return Decision{Verdict: Wait}
	}
	perKey, perRetry, perRequest := DefaultPerKey, DefaultPerRetry, DefaultPerRequest
	if d.linear() {
		bound := d.linearBound(s.Tokens)
		perKey, perRetry, perRequest = bound, bound, bound
	}
	own, reason := cmp.Or(d.PerKey, perKey), lookup.ReasonKeyDeadline
	if s.Result == lookup.Retry {
		own, reason = cmp.Or(d.PerRetry, perRetry), lookup.ReasonRetryDeadline
	}
	ownLeft := left(own, s.KeyAge)
	if ownLeft == 0 {
		return Decision{Reason: reason}
	}
	requestLeft := left(cmp.Or(d.PerRequest, perRequest), s.RequestAge)
	if requestLeft == 0 {
		return Decision{Reason: lookup.ReasonRequestDeadline}
	}
	after := min(ownLeft, requestLeft)
	if after == NoLimit {
		after = 0
	}
	return Decision{Verdict: Wait, After: after}
}

type setting struct {
	name  string
	value time.Duration
}

// Validate reports every fault of d: what is negative, and what contradicts
// itself, so that something which was set would have no effect.
func (d Deadline) Validate() error {
	var f faults
	for _, b := range []setting{{"PerKey", d.PerKey}, {"PerRetry", d.PerRetry}, {"PerRequest", d.PerRequest}, {"Max", d.Max}} {
		if b.value < 0 {
			f.add("Deadline.%s is %v, want 0 (the default), more, or NoLimit", b.name, b.value)
		}
	}
	for _, b := range []setting{{"Base", d.Base}, {"PerThousandTokens", d.PerThousandTokens}} {
		switch {
		case b.value < 0:
			f.add("Deadline.%s is %v, want 0 or more", b.name, b.value)
		case b.value == NoLimit:
			f.add("Deadline.%s is NoLimit, which is for bounds and Max", b.name)
		}
	}
	d.blockFaults(&f, "PerKey", d.PerKey)
	d.blockFaults(&f, "PerRetry", d.PerRetry)
	d.linearFaults(&f)
	return f.err()
}

// blockFaults is about a block's bound that the request's bound always undercuts.
func (d Deadline) blockFaults(f *faults, name string, value time.Duration) {
	if value <= 0 || value == NoLimit || d.PerRequest < 0 || d.Max < 0 {
		return
	}
	switch {
	case d.PerRequest > 0 && value > d.PerRequest:
		f.add("Deadline.%s %v is above PerRequest %v", name, value, d.PerRequest)
	case d.PerRequest == 0 && d.linear() && value > d.max():
		f.add("Deadline.%s %v is above Max %v, which caps PerRequest", name, value, d.max())
	case d.PerRequest == 0 && !d.linear() && value > DefaultPerRequest:
		f.add("Deadline.%s %v is above PerRequest's default %v, set that too", name, value, DefaultPerRequest)
	}
}

func (d Deadline) linearFaults(f *faults) {
	if !d.linear() {
		if d.Max > 0 {
			f.add("Deadline.Max %v is set without Base or PerThousandTokens", limit(d.Max))
		}
		return
	}
	if d.Max >= 0 && d.Base > d.max() && d.Base != NoLimit {
		f.add("Deadline.Base %v is above Max %v", d.Base, d.max())
	}
	if d.PerKey != 0 && d.PerRetry != 0 && d.PerRequest != 0 {
		f.add("Deadline.Base and PerThousandTokens have no effect, all three bounds are set")
	}
}

func (d *Deadline) linear() bool { return d.Base != 0 || d.PerThousandTokens != 0 }

func (d *Deadline) max() time.Duration {
	if d.Max == 0 {
		return DefaultMax
	}
	return d.Max
}

// linearBound goes up to NoLimit where the arithmetic would overflow.
func (d *Deadline) linearBound(tokens int) time.Duration {
	grown := NoLimit
	hi, lo := bits.Mul64(uint64(max(d.PerThousandTokens, 0)), uint64(max(tokens, 0)))
	if hi == 0 { // lo/1000 fits then; above it are centuries
		grown = time.Duration(lo / 1000)
	}
	return min(d.max(), addDurations(max(d.Base, 0), grown))
}

// left is how much of a bound is left at an age: zero once it is reached, NoLimit
// if there is no bound. A negative bound, which Validate refuses, is reached at
// once.
func left(bound, age time.Duration) time.Duration {
	if bound == NoLimit {
		return NoLimit
	}
	return max(max(bound, 0)-max(age, 0), 0)
}

// addDurations adds durations that are not negative, and stops at the longest
// there is.
func addDurations(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// limit names NoLimit in messages.
func limit(d time.Duration) string {
	if d == NoLimit {
		return "NoLimit"
	}
	return d.String()
}
