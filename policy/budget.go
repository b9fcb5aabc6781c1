package policy

import (
	"time"

	"github.com/kvoffload/kvoffload/lookup"
)

// RecomputeBudget cuts a pending run that is cheap to compute: at most MaxTokens
// tokens, in whole blocks. It has no opinion on single blocks, so it never ends a
// wait for a tier that can't say yet, and it bounds no wait in time: combine it
// with [Deadline] through [Any].
type RecomputeBudget struct {
	// MaxTokens is the longest run to compute rather than wait for: a run of
	// blocks is cut if it has at most MaxTokens/TokensPerBlock blocks, rounded
	// down; a partial tail if waiting gains at most MaxTokens tokens. Zero cuts
	// nothing. Negative is refused by [Validate].
	MaxTokens int
	// Grace is how long a request waits, from its first deferral, before a run is
	// cut: what is about to land is then not computed. Default zero: cut at once.
	Grace time.Duration
	// Rate limits how many tokens per second are computed because runs were cut.
	// It may be shared. Nil: no limit.
	Rate *Rate
}

// Decide cuts or waits for the pending run. It takes nothing from Rate; Commit
// does.
func (b RecomputeBudget) Decide(s Snapshot) Decision {
	if s.Scope != Run {
		return Decision{Verdict: Wait}
	}
	return b.decide(&s)
}

// decide is apart from Decide so that calls through the interface copy less.
func (b *RecomputeBudget) decide(s *Snapshot) Decision {
	if !b.covers(&s.Run) {
		return Decision{Verdict: Wait}
	}
	after := b.graceLeft(s)
	if b.Rate != nil {
		after = max(after, b.Rate.wait(s.Now, uncharged(s)))
	}
	if after > 0 {
		return Decision{Verdict: Wait, After: after}
	}
	return Decision{Reason: lookup.ReasonBudget}
}

// Commit charges Rate for a cut that took effect, as far as the request has not
// been charged before. A run that this budget would not have cut costs nothing.
func (b RecomputeBudget) Commit(s Snapshot) {
	if b.Rate == nil || s.Scope != Run || !b.covers(&s.Run) || b.graceLeft(&s) > 0 {
		return
	}
	b.Rate.take(s.Now, uncharged(&s))
}

// Validate reports every fault of b.
func (b RecomputeBudget) Validate() error {
	var f faults
	if b.MaxTokens < 0 {
		f.add("RecomputeBudget.MaxTokens is %d, want 0 or more", b.MaxTokens)
	}
	if b.Grace < 0 {
		f.add("RecomputeBudget.Grace is %v, want 0 or more", b.Grace)
	}
	if b.Rate != nil && b.Rate.perSecond == 0 {
		f.add("RecomputeBudget.Rate was not made by NewRate")
	}
	return f.err()
}

// covers reports whether the run is short enough to be cut.
func (b *RecomputeBudget) covers(r *lookup.Run) bool {
	if b.MaxTokens <= 0 {
		return false
	}
	if r.Tail {
		return r.Tokens <= b.MaxTokens
	}
	return r.TokensPerBlock > 0 && r.Blocks <= b.MaxTokens/r.TokensPerBlock
}

func (b *RecomputeBudget) graceLeft(s *Snapshot) time.Duration {
	return max(b.Grace-max(s.RequestAge, 0), 0)
}

// uncharged is what cutting the run costs on top of what the request has been
// charged for. Numbers that no scan produces are clamped before the subtraction,
// which can't overflow then.
func uncharged(s *Snapshot) int {
	tokens := min(max(s.Run.Tokens, 0), lookup.MaxTokens)
	charged := min(max(s.Charged, 0), lookup.MaxTokens)
	return max(tokens-charged, 0)
}
