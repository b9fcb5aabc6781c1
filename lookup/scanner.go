package lookup

import (
	"errors"
	"fmt"
	"slices"
)

// ErrSource is returned by Scanner.Plan for a nil Source.
var ErrSource = errors.New("lookup: nil source")

var errNoLayout = fmt.Errorf("%w: the Scanner was not made by NewScanner", ErrLayout)

// Scanner finds how much of a query can be loaded, for one Layout. It is
// immutable and safe for concurrent use. Make it with [NewScanner]; the zero
// Scanner answers every query with an [ErrLayout].
type Scanner struct {
	layout Layout
	// order is the order in which groups are asked: full-attention groups by
	// index, then sliding-window groups, the widest window first. The first group
	// to find little spares the others the work, and those that ask from the
	// front find out first how far it is worth looking from the back.
	order []int
	full  int // how many of order are full-attention groups

	smallestBlock int
	speculative   bool // whether any group is
}

// NewScanner checks the layout and copies it. An error wraps [ErrLayout] and names
// every fault.
func NewScanner(l Layout) (*Scanner, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	l.Groups = slices.Clone(l.Groups)
	s := &Scanner{layout: l, smallestBlock: l.Groups[0].TokensPerBlock}
	var sliding []int
	for g, group := range l.Groups {
		if group.Kind == SlidingWindow {
			sliding = append(sliding, g)
		} else {
			s.order = append(s.order, g)
		}
		s.smallestBlock = min(s.smallestBlock, group.TokensPerBlock)
		s.speculative = s.speculative || group.Speculative
	}
	s.full = len(s.order)
	slices.SortStableFunc(sliding, func(a, b int) int {
		return l.Groups[b].WindowBlocks - l.Groups[a].WindowBlocks
	})
	s.order = append(s.order, sliding...)
	return s, nil
}

// Layout returns a copy of the scanner's layout.
func (s *Scanner) Layout() Layout {
	l := s.layout
	l.Groups = slices.Clone(l.Groups)
	return l
}

// Plan asks src about q and says whether to load, to wait or to recompute. The
// complete blocks of all groups are agreed upon first; then, if the query has
// TailKeys, the partial tail after them is tried. gate decides about pending runs,
// and may be asked more than once; nil waits for all of them.
//
// An invalid query is an error that wraps [ErrQuery], a nil src an [ErrSource]; the
// Plan is then zero, which is Recompute.
//
// Plan allocates nothing, keeps none of its arguments, and asks src on the calling
// goroutine. Answers may change while it asks: what it says to load was a Hit when
// it was asked for.
func (s *Scanner) Plan(q *Query, src Source, gate Gate) (Plan, error) {
	if len(s.order) == 0 {
		return Plan{}, errNoLayout
	}
	if src == nil {
		return Plan{}, ErrSource
	}
	if q == nil {
		return Plan{}, errNilQuery
	}
	if err := q.validate(&s.layout); err != nil {
		return Plan{}, err
	}
	a := newAsker(src, gate)
	complete := s.complete(q, &a)
	var tail tailFound
	if !complete.wait {
		tail = s.tail(q, complete.tokens, &a)
	}
	p := join(q.Computed, complete, tail)
	p.Asked = a.asked
	return p, nil
}

// join makes one plan of what was found of complete blocks and of the tail. A tail
// waits only where nothing complete is found.
func join(computed int, c agreement, t tailFound) Plan {
	switch {
	case c.wait:
		return Plan{Action: Wait, Reason: c.reason}
	case t.wait:
		return Plan{Action: Wait, Reason: t.reason}
	}
	p := Plan{Reason: ReasonReady, Tokens: c.tokens, TailBoundary: t.boundary, Cut: c.cut}
	if t.boundary > 0 {
		p.Tokens = t.boundary - computed
	}
	if p.Cut == (Run{}) {
		p.Cut = t.cut
	}
	if p.Tokens > 0 {
		p.Action = Load
	} else {
		p.Reason = ReasonNotStored
	}
	if p.Cut != (Run{}) {
		p.Reason = ReasonBudget
	}
	return p
}

// Blocks returns which blocks of a group have to be loaded for a plan of so many
// tokens beyond computed: those from index first up to, not including, end. All of
// them for full attention, the last WindowBlocks of them for a sliding window. The
// last one may be partly used; where the plan has a TailBoundary, it is the block
// that the group's tail key names (see TailIndex), and not in Query.Keys.
//
// A group that the layout hasn't got, or numbers that no Plan has, give 0, 0.
func (s *Scanner) Blocks(group, computed, tokens int) (first, end int) {
	if group < 0 || group >= len(s.layout.Groups) {
		return 0, 0
	}
	if computed < 0 || tokens <= 0 || tokens > MaxTokens || computed > MaxTokens-tokens {
		return 0, 0
	}
	g := &s.layout.Groups[group]
	first, end = computed/g.TokensPerBlock, ceilDiv(computed+tokens, g.TokensPerBlock)
	if g.Kind == SlidingWindow {
		first = max(first, end-g.WindowBlocks)
	}
	return first, end
}

// TailIndex returns the index into each list of Query.TailKeys of the keys that
// end at a plan's TailBoundary, or -1 if the boundary is none.
func (s *Scanner) TailIndex(boundary int) int {
	if s.layout.TokensPerHash <= 0 || boundary <= 0 || boundary%s.layout.TokensPerHash != 0 {
		return -1
	}
	return boundary/s.layout.TokensPerHash - 1
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }
