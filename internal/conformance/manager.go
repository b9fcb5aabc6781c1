package conformance

import (
	"fmt"

	"github.com/kvoffload/kvoffload/lookup"
	"github.com/kvoffload/kvoffload/policy"
	"github.com/kvoffload/kvoffload/tiering"
)

// throughManager puts a Manager into the state that a source describes, asks it the
// same question, and compares: the answer, and that the claim has just the blocks that
// the answer is made of.
func throughManager(l lookup.Layout, q lookup.Query, src lookup.Source, budget int, want lookup.Plan) error {
	blocks, err := managerFor(l, q, src, budget)
	if err != nil {
		return err
	}
	r := blocks.m.Begin(tiering.RequestOptions{})
	defer r.End()
	p := r.Plan(q)
	if p.Err != nil {
		return fmt.Errorf("manager: %w", p.Err)
	}
	if err := differ(planned(want), planned(p.Plan)); err != nil {
		return fmt.Errorf("manager: %w", err)
	}
	if err := blocks.compareClaim(l, q, p); err != nil {
		return fmt.Errorf("manager: %w", err)
	}
	if again := r.Replan(); planned(again.Plan) != planned(want) {
		return fmt.Errorf("manager, asked again: want %+v, got %+v", planned(want), planned(again.Plan))
	}
	return nil
}

// stored is a Manager and where it has which key.
type stored struct {
	m  *tiering.Manager
	at map[lookup.Key]tiering.BlockID
}

func managerFor(l lookup.Layout, q lookup.Query, src lookup.Source, budget int) (stored, error) {
	unsure := make(unsureTier)
	answers := make(map[lookup.Key]lookup.Result)
	for _, lists := range [][][]lookup.Key{q.Keys, q.TailKeys} {
		for _, keys := range lists {
			for _, key := range keys {
				answers[key] = src.Lookup(key)
			}
		}
	}
	m, err := tiering.New(tiering.Options{
		Layout:      l,
		Primary:     tiering.PrimaryOptions{Blocks: len(answers) + 1},
		Secondaries: []tiering.Secondary{unsure},
		Policy:      policy.Any(policy.Always{}, policy.RecomputeBudget{MaxTokens: budget}),
	})
	if err != nil {
		return stored{}, err
	}
	s := stored{m, make(map[lookup.Key]tiering.BlockID)}
	w := m.Begin(tiering.RequestOptions{})
	for key, answer := range answers {
		switch answer {
		case lookup.Retry:
			unsure[key] = true
		case lookup.Hit, lookup.Pending:
			j, err := w.Store([]lookup.Key{key}, nil)
			if err != nil {
				return stored{}, err
			}
			s.at[key] = j.Block(0).Block
			if answer == lookup.Hit {
				if err := j.Finish(nil); err != nil {
					return stored{}, err
				}
			}
		}
	}
	w.End()
	return s, nil
}

// compareClaim checks that a Load names, group by group, the blocks of the keys that it
// loads, and that those are what is claimed.
func (s stored) compareClaim(l lookup.Layout, q lookup.Query, p tiering.Plan) error {
	scanner, err := lookup.NewScanner(l)
	if err != nil {
		return err
	}
	claimed := make(map[tiering.BlockID]bool)
	for g := range l.Groups {
		first, end := scanner.Blocks(g, q.Computed, p.Tokens)
		if p.TailBoundary > 0 {
			end--
		}
		from, blocks := p.Claim.Group(g)
		if len(blocks) != max(0, end-first) || len(blocks) > 0 && from != first {
			return fmt.Errorf("group %d: want blocks %d to %d, got %d from %d", g, first, end, len(blocks), from)
		}
		for i, b := range blocks {
			claimed[b] = true
			if s.at[q.Keys[g][from+i]] != b {
				return fmt.Errorf("group %d: block %d is not where its key is", g, from+i)
			}
		}
		tail, has := p.Claim.Tail(g)
		if has != (p.TailBoundary > 0) {
			return fmt.Errorf("group %d: tail %v, boundary %d", g, has, p.TailBoundary)
		}
		if has {
			claimed[tail] = true
			if s.at[q.TailKeys[g][scanner.TailIndex(p.TailBoundary)]] != tail {
				return fmt.Errorf("group %d: the tail is not where its key is", g)
			}
		}
	}
	if n := s.m.Stats().Claimed; n != len(claimed) {
		return fmt.Errorf("%d blocks are claimed, %d are to be loaded", n, len(claimed))
	}
	return nil
}

// unsureTier is a tier that can't say yet whether it has some keys, and has no others.
type unsureTier map[lookup.Key]bool

func (unsureTier) Name() string { return "unsure" }
func (t unsureTier) Lookup(key lookup.Key) lookup.Result {
	if t[key] {
		return lookup.Retry
	}
	return lookup.Miss
}
func (unsureTier) Load(*tiering.Job) error  { return tiering.ErrDeclined }
func (unsureTier) Store(*tiering.Job) error { return tiering.ErrDeclined }
