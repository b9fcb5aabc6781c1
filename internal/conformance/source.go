package conformance

import (
	"encoding/json"
	"fmt"

	"github.com/kvoffload/kvoffload/lookup"
)

// answer is a lookup.Result as vectors spell it.
type answer lookup.Result

func (a *answer) UnmarshalText(text []byte) error {
	for r := range lookup.Result(lookup.Results) {
		if string(text) == r.String() {
			*a = answer(r)
			return nil
		}
	}
	return fmt.Errorf("unknown answer %q", text)
}

// script answers as a vector says: the key of block i of group g is answered with
// results[g][i], a key that is in neither list with Miss.
type script struct {
	results [][]answer
	asked   int
}

// keys makes the first n keys of group g for a script.
func keys(g, n int) []lookup.Key {
	ks := make([]lookup.Key, n)
	for i := range ks {
		ks[i] = lookup.KeyFrom64(uint64(i), uint32(g))
	}
	return ks
}

// allKeys makes the keys for every answer of a script.
func allKeys(results [][]answer) [][]lookup.Key {
	all := make([][]lookup.Key, len(results))
	for g := range results {
		all[g] = keys(g, len(results[g]))
	}
	return all
}

func (s *script) answer(k lookup.Key) lookup.Result {
	g, i := int(k.Group), index(k)
	if g >= len(s.results) || i >= len(s.results[g]) {
		return lookup.Miss
	}
	return lookup.Result(s.results[g][i])
}

func index(k lookup.Key) int {
	i := 0
	for _, b := range k.Hash[:8] {
		i = i<<8 | int(b)
	}
	return i
}

func (s *script) Lookup(k lookup.Key) lookup.Result {
	s.asked++
	return s.answer(k)
}

// placedScript is a script that counts leading hits, at most so many at a time.
type placedScript struct {
	*script
	stride int
}

func (s placedScript) LookupAt(_ lookup.At, k *lookup.Key) lookup.Result { return s.Lookup(*k) }

func (s placedScript) LeadingHits(_ lookup.At, ks []lookup.Key) int {
	n := 0
	for n < min(len(ks), s.stride) && s.answer(ks[n]) == lookup.Hit {
		n++
	}
	return n
}

// gate is the recompute budget of clause S4, written down once more: what is
// judged here are the scans.
func gate(budget int) lookup.Gate {
	return lookup.GateFunc(func(r lookup.Run) bool {
		if r.Tail {
			return budget > 0 && r.Tokens <= budget
		}
		return budget > 0 && r.Blocks <= budget/r.TokensPerBlock
	})
}

// sources are the ways to ask the same script, all of which must come to the same
// answer.
func sources(s *script) map[string]lookup.Source {
	return map[string]lookup.Source{
		"plain":                  lookup.SourceFunc(s.Lookup),
		"placed":                 placedScript{s, 1 << 30},
		"placed, 3 at a time":    placedScript{s, 3},
		"placed, none at a time": placedScript{s, 0},
	}
}

// eachSource runs a case with every kind of source.
func eachSource(results [][]answer, check func(lookup.Source) error) error {
	for name, src := range sources(&script{results: results}) {
		if err := check(src); err != nil {
			return fmt.Errorf("%s source: %w", name, err)
		}
	}
	return nil
}

// decode reads a case, and refuses one that has not got all of the named fields.
func decode(c json.RawMessage, into any, required ...string) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(c, &fields); err != nil {
		return err
	}
	for _, name := range required {
		if _, ok := fields[name]; !ok {
			return fmt.Errorf("the case has no %q", name)
		}
	}
	return json.Unmarshal(c, into)
}
