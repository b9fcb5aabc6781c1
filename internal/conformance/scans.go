package conformance

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/kvoffload/kvoffload/lookup"
)

// want is the expected answer of a case: to wait, or a number.
type want struct {
	Wait   bool
	Blocks *int
	End    *int
	Tokens *int
	// Boundary is absent or null where no tail is taken.
	Boundary *int `json:"tail_boundary"`
}

// outcome is what a want or a scan comes to, in a form to compare.
type outcome struct {
	wait            bool
	n, tailBoundary int
}

func (o outcome) String() string {
	switch {
	case o.wait:
		return "wait"
	case o.tailBoundary > 0:
		return fmt.Sprintf("%d with the tail at %d", o.n, o.tailBoundary)
	}
	return fmt.Sprint(o.n)
}

// outcome takes the field that the kind of case has. Anything but either a wait or
// that field is a fault of the case.
func (w want) outcome(n *int) (outcome, error) {
	if w.Wait == (n != nil) {
		return outcome{}, errors.New(`"want" is neither a wait nor an answer, or both`)
	}
	if w.Wait {
		return outcome{wait: true}, nil
	}
	o := outcome{n: *n}
	if w.Boundary != nil {
		o.tailBoundary = *w.Boundary
	}
	return o, nil
}

func differ(wanted, got outcome) error {
	if wanted != got {
		return fmt.Errorf("want %v, got %v", wanted, got)
	}
	return nil
}

func runPrefix(c json.RawMessage) error {
	var v struct {
		Results        []answer
		TokensPerBlock int `json:"tokens_per_block"`
		Budget         int `json:"budget_tokens"`
		Want           want
		Lookups        int
	}
	if err := decode(c, &v, "results", "tokens_per_block", "budget_tokens", "want", "lookups"); err != nil {
		return err
	}
	wanted, err := v.Want.outcome(v.Want.Blocks)
	if err != nil {
		return err
	}
	return eachSource([][]answer{v.Results}, func(src lookup.Source) error {
		f := lookup.Prefix(src, keys(0, len(v.Results)), v.TokensPerBlock, gate(v.Budget))
		return errors.Join(found(wanted, f, v.Lookups), foundPlan(wanted, f, func() (lookup.Plan, error) {
			l := lookup.Layout{Groups: []lookup.Group{{TokensPerBlock: v.TokensPerBlock}}}
			return plan(l, lookup.Query{
				Keys: [][]lookup.Key{keys(0, len(v.Results))}, Tokens: len(v.Results) * v.TokensPerBlock,
			}, src, v.Budget)
		}, v.TokensPerBlock))
	})
}

func runWindow(c json.RawMessage) error {
	var v struct {
		Results []answer
		Window  int
		Want    want
		Lookups int
	}
	if err := decode(c, &v, "results", "window", "want", "lookups"); err != nil {
		return err
	}
	wanted, err := v.Want.outcome(v.Want.End)
	if err != nil {
		return err
	}
	return eachSource([][]answer{v.Results}, func(src lookup.Source) error {
		return found(wanted, lookup.Window(src, keys(0, len(v.Results)), v.Window), v.Lookups)
	})
}

// found compares a scan of one list with what was wanted. In one pass over one list
// there is no better order of asking, so the number of lookups must be met.
func found(wanted outcome, f lookup.Found, lookups int) error {
	err := differ(wanted, outcome{wait: f.Wait, n: f.Blocks})
	if f.Asked != lookups {
		err = errors.Join(err, fmt.Errorf("want %d lookups, got %d", lookups, f.Asked))
	}
	return err
}

// foundPlan checks that a scanner of one group plans what its scan found.
func foundPlan(wanted outcome, f lookup.Found, make func() (lookup.Plan, error), tokensPerBlock int) error {
	p, err := make()
	if err != nil {
		return err
	}
	if err := differ(outcome{wait: wanted.wait, n: wanted.n * tokensPerBlock}, planned(p)); err != nil {
		return fmt.Errorf("planned: %w", err)
	}
	if p.Cut != f.Cut {
		return fmt.Errorf("planned cut %v, scanned %v", p.Cut, f.Cut)
	}
	return nil
}

func planned(p lookup.Plan) outcome {
	return outcome{wait: p.Action == lookup.Wait, n: p.Tokens, tailBoundary: p.TailBoundary}
}

// plan plans with a Scanner alone and, to the same end, through a Manager.
func plan(l lookup.Layout, q lookup.Query, src lookup.Source, budget int) (lookup.Plan, error) {
	s, err := lookup.NewScanner(l)
	if err != nil {
		return lookup.Plan{}, err
	}
	p, err := s.Plan(&q, src, gate(budget))
	if err != nil {
		return p, err
	}
	return p, throughManager(l, q, src, budget, p)
}
