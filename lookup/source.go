package lookup

// Source knows which blocks are there. A server with its own block manager
// implements it; package tiering has one over tiers of memory.
//
// Lookup must not block: a scan of a long prompt asks tens of thousands of times.
type Source interface {
	// Lookup answers for one block. An answer that is none of the four counts as
	// Miss.
	Lookup(key Key) Result
}

// SourceFunc makes a Source of a function. A nil SourceFunc misses everything.
type SourceFunc func(Key) Result

// Lookup calls f.
func (f SourceFunc) Lookup(key Key) Result {
	if f == nil {
		return Miss
	}
	return f(key)
}

// At is the place of a block in a query.
type At struct {
	// Group and Index: the block is Query.Keys[Group][Index], or with Tail
	// Query.TailKeys[Group][Index]. Prefix and Window scan group 0.
	Group, Index int
	// Tail says that the block is asked for as the end of a partial tail.
	Tail bool
}

// PlacedSource is a Source that wants to know where in the query a block stands,
// or that can answer for a run of hits faster than one by one. Scans use these
// methods instead of Lookup where a Source has them.
type PlacedSource interface {
	Source
	// LookupAt answers for the block at a place. The key is not to be changed.
	LookupAt(at At, key *Key) Result
	// LeadingHits returns how many of the first of keys are Hit; keys[0] is at
	// the given place and the others follow it. It may stop early, even at zero:
	// the scan asks LookupAt for the first key not counted and goes on from
	// there. For that key LeadingHits must start nothing (no existence check, no
	// promotion), as it will be asked for properly. An answer below zero counts
	// as zero, one above len(keys) as len(keys).
	LeadingHits(at At, keys []Key) int
}

// asker puts one scan's questions to a Source and a Gate, and counts them. It finds
// out once what the Source can do; a wrapper with the methods of a PlacedSource
// would have to be allocated.
//
// Scans hand it on as an argument rather than keep it in a struct with what else
// they have: whatever stands beside an interface whose methods are called is
// allocated, and so would the caller's Query be.
type asker struct {
	source Source       // nil misses everything
	placed PlacedSource // nil if source isn't one
	gate   Gate         // nil always waits
	asked  int
}

func newAsker(src Source, gate Gate) asker {
	p, _ := src.(PlacedSource)
	return asker{source: src, placed: p, gate: gate}
}

func (a *asker) cut(r Run) bool { return a.gate != nil && a.gate.Cut(r) }

// one asks for the block at a place, and takes a senseless answer for a Miss.
func (a *asker) one(at At, key *Key) Result {
	a.asked++
	r := Miss
	switch {
	case a.placed != nil:
		r = a.placed.LookupAt(at, key)
	case a.source != nil:
		r = a.source.Lookup(*key)
	}
	if !r.Valid() {
		return Miss
	}
	return r
}

// hits is LeadingHits, kept within its bounds; zero if the Source hasn't got it.
func (a *asker) hits(at At, keys []Key) int {
	if a.placed == nil {
		return 0
	}
	n := min(max(a.placed.LeadingHits(at, keys), 0), len(keys))
	a.asked += n
	return n
}
