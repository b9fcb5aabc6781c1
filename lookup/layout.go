package lookup

import (
	"errors"
	"fmt"
	"math"
	"strconv"
)

// Kind says how the attention layers of a group look back.
type Kind uint8

const (
	// FullAttention layers need every block from the start.
	FullAttention Kind = iota
	// SlidingWindow layers need only the last Group.WindowBlocks blocks. Layers
	// that keep one recurrent state (Mamba, linear attention) are a window of
	// one block.
	SlidingWindow
)

// String returns "full", "sliding", or "kind(n)" for any other value.
func (k Kind) String() string {
	switch k {
	case FullAttention:
		return "full"
	case SlidingWindow:
		return "sliding"
	}
	return "kind(" + strconv.Itoa(int(k)) + ")"
}

// MaxTokens bounds every token count and block size here. It is far above any
// context length and keeps all sums of them inside an int on 32-bit machines.
const MaxTokens = math.MaxInt32 / 4

// Group is a set of layers whose KV is stored together, in blocks of
// TokensPerBlock tokens.
type Group struct {
	// Kind is how the layers look back. Default FullAttention.
	Kind Kind
	// TokensPerBlock is the offload unit in tokens. Required, positive.
	TokensPerBlock int
	// WindowBlocks is how many blocks a SlidingWindow group looks back, rounded
	// up. Required and positive for SlidingWindow, zero for FullAttention.
	WindowBlocks int
	// Speculative marks the layers of a drafter (EAGLE, MTP), whose last block
	// of a match can't be used and is given up.
	Speculative bool
}

// Layout is how a model's KV is divided into groups. The index of a group is the
// index into Query.Keys.
type Layout struct {
	// Groups, at least one and at most MaxGroups.
	Groups []Group
	// StateGrid is for models that keep recurrent state only at multiples of
	// some number of tokens: the complete blocks then always agree on such a
	// multiple. A partial tail needs none, as what is stored of it has the state
	// at its own boundary. Zero or one: any length will do.
	StateGrid int
	// TokensPerHash is the granularity of partial tails: after the complete
	// blocks, boundaries at multiples of it are tried too. It must divide every
	// group's TokensPerBlock. Zero: no partial tails.
	TokensPerHash int
}

// ErrLayout is wrapped by every error about a Layout.
var ErrLayout = errors.New("lookup: invalid layout")

// Validate reports every fault of the layout in one error, which wraps
// [ErrLayout], or nil.
func (l Layout) Validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if len(l.Groups) == 0 {
		fault("Groups is empty")
	}
	if len(l.Groups) > MaxGroups {
		fault("%d Groups, at most %d", len(l.Groups), MaxGroups)
	}
	if l.StateGrid < 0 || l.StateGrid > MaxTokens {
		fault("StateGrid is %d, want 0 to %d", l.StateGrid, MaxTokens)
	}
	if l.TokensPerHash < 0 || l.TokensPerHash > MaxTokens {
		fault("TokensPerHash is %d, want 0 to %d", l.TokensPerHash, MaxTokens)
	}
	for i, g := range l.Groups {
		if g.TokensPerBlock <= 0 || g.TokensPerBlock > MaxTokens {
			fault("Groups[%d].TokensPerBlock is %d, want 1 to %d", i, g.TokensPerBlock, MaxTokens)
		} else if l.TokensPerHash > 0 && g.TokensPerBlock%l.TokensPerHash != 0 {
			fault("Groups[%d].TokensPerBlock %d is no multiple of TokensPerHash %d", i, g.TokensPerBlock, l.TokensPerHash)
		}
		switch g.Kind {
		case FullAttention:
			if g.WindowBlocks != 0 {
				fault("Groups[%d].WindowBlocks is %d in a full-attention group, want 0", i, g.WindowBlocks)
			}
		case SlidingWindow:
			if g.WindowBlocks <= 0 || g.WindowBlocks > MaxTokens {
				fault("Groups[%d].WindowBlocks is %d, want 1 to %d", i, g.WindowBlocks, MaxTokens)
			}
		default:
			fault("Groups[%d].Kind is %v", i, g.Kind)
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrLayout, errors.Join(faults...))
}
