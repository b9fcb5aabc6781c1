package policy

import "github.com/kvoffload/kvoffload/lookup"

// Source returns src with w applied: what the scan sees of a block is what this
// request is to see. It is for one scan, after BeginScan; a second call replaces
// the first. With a nil src everything is Miss. It allocates nothing.
func (w *Waits) Source(src lookup.Source) lookup.Source {
	if src == nil {
		src = lookup.SourceFunc(func(lookup.Key) lookup.Result { return lookup.Miss })
	}
	w.scan = scanSource{waits: w, source: src}
	w.scan.placed, _ = src.(lookup.PlacedSource)
	return &w.scan
}

// Gate returns what decides about pending runs in this request's scan, after
// BeginScan. It allocates nothing.
func (w *Waits) Gate() lookup.Gate { return (*scanGate)(w) }

// scanSource is a PlacedSource, as the source behind it may be one.
type scanSource struct {
	waits  *Waits
	source lookup.Source
	placed lookup.PlacedSource // nil if source isn't one
}

func (s *scanSource) Lookup(key lookup.Key) lookup.Result {
	return s.waits.Block(&key, s.source.Lookup(key), 0).Result
}

func (s *scanSource) LookupAt(at lookup.At, key *lookup.Key) lookup.Result {
	if s.placed == nil {
		return s.waits.Block(key, s.source.Lookup(*key), 0).Result
	}
	return s.waits.Block(key, s.placed.LookupAt(at, key), 0).Result
}

func (s *scanSource) LeadingHits(at lookup.At, keys []lookup.Key) int {
	if s.placed == nil {
		return 0
	}
	n := min(max(s.placed.LeadingHits(at, keys), 0), len(keys))
	s.waits.Hits(keys[:n])
	return n
}

type scanGate Waits

func (g *scanGate) Cut(r lookup.Run) bool { return (*Waits)(g).Run(r).Verdict == Recompute }
