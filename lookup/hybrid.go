package lookup

// agreement is the search for the length up to which every group has complete
// blocks, and its result. Each group is asked within the length that those before
// it left and may only shorten it.
type agreement struct {
	s *Scanner
	q *Query

	// limit is the token position up to which the groups asked so far agree.
	limit int
	// gaveUp has a bit for each speculative group that has given up its last
	// block at this limit, and need not do so again when it is asked again.
	gaveUp uint64
	// retryWait and pendingWait: a group asked in this round has to wait.
	retryWait, pendingWait bool
	// slidingAsked: a sliding-window group was asked in this round. Unlike what
	// full attention found, its window doesn't serve a shorter length.
	slidingAsked bool

	// The result. cut is the run because of which tokens is no more than it is.
	tokens int
	wait   bool
	reason Reason
	cut    Run
}

// complete finds the tokens beyond those computed that all groups have, in
// complete blocks.
func (s *Scanner) complete(q *Query, ask *asker) agreement {
	a := agreement{s: s, q: q, limit: q.Tokens}
	if s.full < len(s.order) {
		// The last token is computed in any case. With full attention its block is
		// of use all the same; a window that ends with it is the wrong one.
		a.limit--
	}
	a.limit = a.onGrid(a.limit)
	for groups := s.order; ; {
		next, ok := a.round(groups, ask)
		if !ok {
			return a
		}
		if next == repeatNone {
			break
		}
		if groups = s.order; next == repeatSliding {
			groups = s.order[s.full:]
		}
	}
	if a.retryWait || a.pendingWait {
		a.wait, a.reason = true, ReasonPending
		if a.retryWait {
			a.reason = ReasonRetry
		}
		return a
	}
	a.tokens = a.limit - q.Computed
	return a
}

// repeat says which groups have to be asked again, since the length has shrunk.
type repeat uint8

const (
	repeatNone repeat = iota
	repeatSliding
	repeatAll
)

// round asks the groups one after the other; ok is false if there is nothing to
// load. It goes on after the length has shrunk: the others may shrink it further.
func (a *agreement) round(groups []int, ask *asker) (next repeat, ok bool) {
	a.retryWait, a.pendingWait, a.slidingAsked = false, false, false
	for i, g := range groups {
		before := a.limit
		used, ok := a.group(g, ask)
		if !ok {
			return repeatNone, false
		}
		group := &a.s.layout.Groups[g]
		if used > ceilDiv(a.limit, group.TokensPerBlock) {
			// The grid has taken the end off the window just found.
			next = max(next, repeatSliding)
		}
		if a.limit < before {
			if !group.Speculative {
				a.gaveUp = 0
			}
			// The first group has nobody before it to disagree with.
			if i > 0 {
				next = max(next, a.shrunk())
			}
		}
		a.slidingAsked = a.slidingAsked || group.Kind == SlidingWindow
	}
	return next, true
}

// shrunk says whom to ask again after the last group asked has shortened what the
// others agreed to. What one of them waits for may lie beyond the new length.
func (a *agreement) shrunk() repeat {
	switch {
	case a.retryWait || a.pendingWait:
		return repeatAll
	case a.slidingAsked:
		return repeatSliding
	}
	return repeatNone
}

// group asks group g and lowers the limit to what it has. It returns where the
// window of a sliding-window group ends, and false if there is nothing to load.
func (a *agreement) group(g int, ask *asker) (windowEnd int, ok bool) {
	group := &a.s.layout.Groups[g]
	per := group.TokensPerBlock
	if held := len(a.q.Keys[g]) * per; held < a.limit {
		a.limit, a.cut = a.onGrid(held), Run{}
	}
	if a.limit-a.q.Computed < per {
		return 0, false
	}
	givesUp := group.Speculative && a.gaveUp&(1<<g) == 0
	first := a.q.Computed / per
	found := a.scan(g, first, givesUp, ask)
	if found.Wait {
		a.noteWait(found.Reason)
		return 0, true
	}
	if givesUp && found.Blocks > 0 {
		found.Blocks--
		a.gaveUp |= 1 << g
	}
	if found.Blocks == 0 {
		return 0, false
	}
	last := first + found.Blocks
	a.limit = a.onGrid(min(a.limit, last*per))
	if group.Kind == SlidingWindow {
		windowEnd = last
	}
	return windowEnd, a.limit-a.q.Computed >= per
}

// scan asks for the blocks of group g from first on, up to the limit. A
// sliding-window group that gives up its last block needs one more, so that a whole
// window is left.
func (a *agreement) scan(g, first int, givesUp bool, ask *asker) Found {
	group := &a.s.layout.Groups[g]
	keys := a.q.Keys[g]
	end := ceilDiv(a.limit, group.TokensPerBlock)
	var found Found
	if group.Kind == SlidingWindow {
		window := group.WindowBlocks
		if givesUp {
			window++
			end = min(end+1, len(keys))
		}
		found = scanWindow(ask, span{keys[first:end], g, first}, window)
	} else {
		found = scanPrefix(ask, span{keys[first:end], g, first}, group.TokensPerBlock)
	}
	if !found.Wait {
		a.noteCut(found, first+found.Blocks < end)
	}
	return found
}

func (a *agreement) noteWait(r Reason) {
	if r == ReasonRetry {
		a.retryWait = true
	} else {
		a.pendingWait = true
	}
}

// noteCut keeps the run that the gate cut for as long as it is what limits the
// length: a group that falls short of it for another reason makes it moot.
func (a *agreement) noteCut(f Found, short bool) {
	switch {
	case f.Reason == ReasonBudget:
		a.cut = f.Cut
	case short:
		a.cut = Run{}
	}
}

// onGrid lowers a token position to where recurrent state is kept.
func (a *agreement) onGrid(limit int) int {
	if grid := a.s.layout.StateGrid; grid > 1 && limit > 0 {
		limit -= limit % grid
	}
	return limit
}
