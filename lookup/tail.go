package lookup

// TailQuery asks about a partial tail: what is stored beyond the complete blocks,
// at boundaries of TokensPerHash tokens.
type TailQuery struct {
	// Keys[g][i] names, in group g, what ends at token (i+1)*TokensPerHash.
	Keys [][]Key
	// TokensPerHash is the distance between boundaries.
	TokensPerHash int
	// TokensPerBlock is the size of a block: a tail is shorter than that.
	TokensPerBlock int
	// Complete is the token position at which the complete part ends.
	Complete int
	// PromptTokens is the length of the prompt. No tail has its last token.
	PromptTokens int
	// Ready says that the complete part has blocks to load. It is then used at
	// once: a tail alone isn't waited for.
	Ready bool
}

// TailFound is what [Tail] came to.
type TailFound struct {
	// Boundary is the token position at which the tail ends; zero if none is
	// taken.
	Boundary int
	// Wait, Reason, Cut and Asked are as in Found.
	Wait   bool
	Reason Reason
	Cut    Run
	Asked  int
}

// Tail tries the boundaries after the complete part from the longest down, and
// takes the first at which every group hits. One at which any group misses, or has
// no key, is out: nothing else about it makes anyone wait. If none is taken and
// nothing complete is ready, any Retry at the others waits; so does a Pending,
// unless gate cuts what waiting for the highest of them would gain.
//
// It is what Scanner.Plan does for a partial tail, save that Plan also asks for a
// complete block that lies between the complete part and the tail, which is there
// only if the computed tokens end inside a block.
//
// Where a number is zero or less (Complete: less than zero) or above MaxTokens,
// nothing is asked or taken. A nil src misses everything; a nil gate always waits.
func Tail(src Source, q TailQuery, gate Gate) TailFound {
	if !q.possible() {
		return TailFound{Reason: ReasonNotStored}
	}
	a := newAsker(src, gate)
	t := tailScan{TailQuery: q}
	f := t.run(&a)
	return TailFound{Boundary: f.boundary, Wait: f.wait, Reason: f.reason, Cut: f.cut, Asked: a.asked}
}

// possible reports whether q's numbers are such as tails have; sums of them are
// then within an int.
func (q *TailQuery) possible() bool {
	return min(q.TokensPerHash, q.TokensPerBlock, q.PromptTokens, len(q.Keys)) > 0 && q.Complete >= 0 &&
		max(q.TokensPerHash, q.TokensPerBlock, q.PromptTokens, q.Complete) <= MaxTokens
}

// tailFound is the result of a tailScan.
type tailFound struct {
	boundary int
	wait     bool
	reason   Reason
	cut      Run
}

// tailScan is one search for a partial tail.
type tailScan struct {
	TailQuery
	// For a Scanner: its layout and query, to see to what the tail stands on.
	layout *Layout
	query  *Query
}

// tail tries the partial tail after so many complete tokens beyond those computed.
//
// A layout with a speculative group has none: such a group gives up the last block
// of a match, and the tail would be that.
func (s *Scanner) tail(q *Query, complete int, ask *asker) tailFound {
	if q.TailKeys == nil || s.speculative || q.Computed > q.Tokens {
		return tailFound{}
	}
	prompt := q.PromptTokens
	if prompt == 0 {
		prompt = q.Tokens
	}
	t := tailScan{
		TailQuery: TailQuery{
			Keys:           q.TailKeys,
			TokensPerHash:  s.layout.TokensPerHash,
			TokensPerBlock: s.smallestBlock,
			Complete:       q.Computed + complete,
			PromptTokens:   prompt,
			Ready:          complete > 0,
		},
		layout: &s.layout, query: q,
	}
	return t.run(ask)
}

func (t *tailScan) run(ask *asker) tailFound {
	retry, pending, pendingGroup := false, 0, 0
	longest := min(t.Complete+t.TokensPerBlock, t.PromptTokens) - 1
	for b := longest - longest%t.TokensPerHash; b > t.Complete; b -= t.TokensPerHash {
		switch r, group := t.boundary(b, ask); r {
		case Hit:
			return tailFound{boundary: b, reason: ReasonReady}
		case Retry:
			retry = true
		case Pending:
			if pending == 0 {
				pending, pendingGroup = b, group
			}
		}
	}
	switch {
	case t.Ready, !retry && pending == 0:
		return tailFound{reason: ReasonNotStored}
	case retry:
		return tailFound{wait: true, reason: ReasonRetry}
	}
	run := Run{
		Group:          pendingGroup,
		First:          t.Complete / t.blockOf(pendingGroup),
		TokensPerBlock: t.blockOf(pendingGroup),
		Tokens:         pending - t.Complete,
		Tail:           true,
	}
	if !ask.cut(run) {
		return tailFound{wait: true, reason: ReasonPending}
	}
	return tailFound{reason: ReasonBudget, cut: run}
}

// boundary asks every group about the boundary at token b and returns the worst of
// their answers (Miss, then Retry, then Pending), with the first group that gave
// it.
func (t *tailScan) boundary(b int, ask *asker) (worst Result, group int) {
	i := b/t.TokensPerHash - 1
	for g := range t.Keys {
		if i >= len(t.Keys[g]) {
			return Miss, g
		}
	}
	worst = Hit
	for g := range t.Keys {
		r := worse(ask.one(At{Group: g, Index: i, Tail: true}, &t.Keys[g][i]), t.ground(g, b, ask))
		if r == Miss {
			return Miss, g
		}
		if worse(worst, r) != worst {
			worst, group = r, g
		}
	}
	return worst, group
}

// ground asks for the complete block of group g that lies between the complete
// part and the block in which boundary b is. There is one where the complete part
// ends inside a block, as it may where nothing complete is found beyond unaligned
// computed tokens. One recurrent state needs no block before it.
func (t *tailScan) ground(g, b int, ask *asker) Result {
	if t.layout == nil {
		return Hit
	}
	group := &t.layout.Groups[g]
	block := (b - 1) / group.TokensPerBlock // in which the tail ends
	asked := t.Complete / group.TokensPerBlock
	if t.Ready {
		asked = ceilDiv(t.Complete, group.TokensPerBlock)
	}
	if block <= asked || (group.Kind == SlidingWindow && group.WindowBlocks == 1) {
		return Hit
	}
	if asked >= len(t.query.Keys[g]) {
		return Miss
	}
	return ask.one(At{Group: g, Index: asked}, &t.query.Keys[g][asked])
}

// blockOf is the block size of a group, for a Run.
func (t *tailScan) blockOf(g int) int {
	if t.layout == nil {
		return t.TokensPerBlock
	}
	return t.layout.Groups[g].TokensPerBlock
}

// worse returns the answer that stands more in the way.
func worse(a, b Result) Result {
	switch {
	case a == Miss || b == Miss:
		return Miss
	case a == Retry || b == Retry:
		return Retry
	case a == Pending || b == Pending:
		return Pending
	}
	return Hit
}
