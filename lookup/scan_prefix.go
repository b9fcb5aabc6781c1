package lookup

// Found is what a scan of one list of keys came to.
type Found struct {
	// Blocks is how many leading blocks are ready, or for [Window] the index at
	// which the chosen window ends. Zero where Wait is set.
	Blocks int
	// Wait says to ask again later.
	Wait bool
	// Reason is ReasonReady or ReasonNotStored, ReasonPending or ReasonRetry
	// where Wait is set, ReasonBudget where the gate cut a run.
	Reason Reason
	// Cut is the pending run that the gate cut; else zero.
	Cut Run
	// Asked is how many blocks the Source was asked for.
	Asked int
}

// Prefix finds how many leading blocks of keys are ready. It asks in order until
// the first Miss. Blocks that are Pending or Retry don't end the scan, so that
// one pass starts every existence check. If any is Retry, the answer is to wait.
// If none is, but some are Pending, everything from the first of them on is the
// run about which gate decides: wait for it, or cut it and use what is before it.
//
// A nil src misses everything; a nil gate always waits. tokensPerBlock is used to
// tell the gate what the run is worth, and only for that; one that is zero or less
// counts as zero.
func Prefix(src Source, keys []Key, tokensPerBlock int, gate Gate) Found {
	a := newAsker(src, gate)
	f := scanPrefix(&a, span{keys: keys}, min(max(tokensPerBlock, 0), MaxTokens))
	f.Asked = a.asked
	return f
}

// span is a stretch of one group's keys: keys[0] is block first of the group.
type span struct {
	keys  []Key
	group int
	first int
}

func (s span) at(i int) At { return At{Group: s.group, Index: s.first + i} }

func scanPrefix(a *asker, s span, tokensPerBlock int) Found {
	end, pending, retry := s.readUntilMiss(a)
	switch {
	case retry:
		return Found{Wait: true, Reason: ReasonRetry}
	case pending < 0:
		return ready(end)
	}
	run := Run{
		Group:          s.group,
		First:          s.first + pending,
		Blocks:         end - pending,
		TokensPerBlock: tokensPerBlock,
		Tokens:         runTokens(end-pending, tokensPerBlock),
	}
	if !a.cut(run) {
		return Found{Wait: true, Reason: ReasonPending}
	}
	return Found{Blocks: pending, Reason: ReasonBudget, Cut: run}
}

// readUntilMiss asks in order and returns where the scanned run ends, which block
// is the first pending one (-1: none), and whether any was Retry.
func (s span) readUntilMiss(a *asker) (end, pending int, retry bool) {
	pending = -1
	// A run of hits is asked for at once where the Source can do that. It can't
	// where it counts no hit and then answers Hit. After an unresolved block hits
	// are not to be expected, so the next ones are asked for singly, until a Hit.
	able, expect := a.placed != nil, true
	for i := 0; i < len(s.keys); i++ {
		leading := 0
		if able && expect {
			if leading = a.hits(s.at(i), s.keys[i:]); i+leading == len(s.keys) {
				return len(s.keys), pending, retry
			}
			i += leading
		}
		r := a.one(s.at(i), &s.keys[i])
		switch r {
		case Hit:
			able = able && !(expect && leading == 0)
		case Pending:
			if pending < 0 {
				pending = i
			}
		case Retry:
			retry = true
		default:
			return i, pending, retry
		}
		expect = r == Hit
	}
	return len(s.keys), pending, retry
}

func ready(blocks int) Found {
	if blocks == 0 {
		return Found{Reason: ReasonNotStored}
	}
	return Found{Blocks: blocks, Reason: ReasonReady}
}

// runTokens is blocks*tokensPerBlock, at most MaxTokens: lists that no Query
// admits could exceed an int.
func runTokens(blocks, tokensPerBlock int) int {
	if tokensPerBlock > 0 && blocks > MaxTokens/tokensPerBlock {
		return MaxTokens
	}
	return blocks * tokensPerBlock
}
