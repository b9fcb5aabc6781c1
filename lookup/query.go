package lookup

import (
	"errors"
	"fmt"
)

// Query is what a request asks about: its block keys, group by group, and how
// far it already is.
//
// A scan reads the key slices and never writes or keeps them.
type Query struct {
	// Keys[g][i] names block i of group g, which holds the tokens from
	// i*TokensPerBlock to (i+1)*TokensPerBlock. The list may be shorter than the
	// tokens (only what it names is asked for); longer is an error, since such
	// keys would name tokens that don't exist. Equal keys in one list are
	// answered one by one.
	Keys [][]Key
	// Tokens is the request's length in tokens: the prompt, and for a request
	// that comes back after a preemption also what it has generated.
	Tokens int
	// Computed is how many leading tokens the device has already. At or past
	// Tokens there is nothing to load. It need not be a multiple of a block.
	Computed int
	// PromptTokens is the length of the prompt where Tokens is more than that.
	// Zero: Tokens. Partial tails never reach the last prompt token.
	PromptTokens int
	// TailKeys[g][i] names, in group g, what ends at token
	// (i+1)*Layout.TokensPerHash, for partial tails. Nil: no tail is tried; nor
	// is one with a speculative group, which would have to give it up.
	TailKeys [][]Key
}

// ErrQuery is wrapped by every error about a Query.
var ErrQuery = errors.New("lookup: invalid query")

var errNilQuery = fmt.Errorf("%w: nil", ErrQuery)

// Validate reports every fault of q for a layout in one error, which wraps
// [ErrQuery], or nil. Its cost does not grow with the keys.
func (q *Query) Validate(l *Layout) error { return q.validate(l) }

// validate reports every fault of q for a layout, or nil. It looks at lengths
// only: its cost does not grow with the keys.
func (q *Query) validate(l *Layout) error {
	if q.wellFormed(l) {
		return nil
	}
	return q.faults(l)
}

// wellFormed is validate's fast path: it decides, faults explains.
func (q *Query) wellFormed(l *Layout) bool {
	if q.Tokens < 0 || q.Tokens > MaxTokens || q.Computed < 0 || q.PromptTokens < 0 || q.PromptTokens > q.Tokens {
		return false
	}
	if len(q.Keys) != len(l.Groups) || (q.TailKeys != nil && len(q.TailKeys) != len(l.Groups)) {
		return false
	}
	if q.TailKeys != nil && l.TokensPerHash == 0 {
		return false
	}
	for g := range l.Groups {
		if len(q.Keys[g]) > q.Tokens/l.Groups[g].TokensPerBlock {
			return false
		}
		if q.TailKeys != nil && len(q.TailKeys[g]) > q.Tokens/l.TokensPerHash {
			return false
		}
	}
	return true
}

func (q *Query) faults(l *Layout) error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if q.Tokens < 0 || q.Tokens > MaxTokens {
		fault("Tokens is %d, want 0 to %d", q.Tokens, MaxTokens)
	}
	if q.Computed < 0 {
		fault("Computed is %d, want 0 or more", q.Computed)
	}
	if q.PromptTokens < 0 || q.PromptTokens > q.Tokens {
		fault("PromptTokens is %d, want 0 to Tokens %d", q.PromptTokens, q.Tokens)
	}
	if len(q.Keys) != len(l.Groups) {
		fault("Keys has %d lists, the layout has %d groups", len(q.Keys), len(l.Groups))
	}
	if q.TailKeys != nil && l.TokensPerHash == 0 {
		fault("TailKeys are given, the layout has no TokensPerHash")
	}
	if q.TailKeys != nil && len(q.TailKeys) != len(l.Groups) {
		fault("TailKeys has %d lists, the layout has %d groups", len(q.TailKeys), len(l.Groups))
	}
	if q.Tokens >= 0 {
		q.lengthFaults(l, fault)
	}
	return fmt.Errorf("%w: %w", ErrQuery, errors.Join(faults...))
}

func (q *Query) lengthFaults(l *Layout, fault func(string, ...any)) {
	for g := range min(len(q.Keys), len(l.Groups)) {
		if most := q.Tokens / l.Groups[g].TokensPerBlock; len(q.Keys[g]) > most {
			fault("Keys[%d] has %d keys, %d tokens hold %d blocks of %d",
				g, len(q.Keys[g]), q.Tokens, most, l.Groups[g].TokensPerBlock)
		}
	}
	if l.TokensPerHash == 0 {
		return
	}
	for g := range min(len(q.TailKeys), len(l.Groups)) {
		if most := q.Tokens / l.TokensPerHash; len(q.TailKeys[g]) > most {
			fault("TailKeys[%d] has %d keys, %d tokens hold %d hashes of %d",
				g, len(q.TailKeys[g]), q.Tokens, most, l.TokensPerHash)
		}
	}
}
