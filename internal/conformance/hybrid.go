package conformance

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/kvoffload/kvoffload/lookup"
)

type group struct {
	Kind           string
	TokensPerBlock int `json:"tokens_per_block"`
	WindowBlocks   int `json:"window_blocks"`
	Eagle          bool
}

func (g group) lookup() (lookup.Group, error) {
	l := lookup.Group{TokensPerBlock: g.TokensPerBlock, Speculative: g.Eagle}
	switch g.Kind {
	case "full":
	case "sliding":
		l.Kind, l.WindowBlocks = lookup.SlidingWindow, g.WindowBlocks
	default:
		return l, fmt.Errorf("unknown kind of group %q", g.Kind)
	}
	return l, nil
}

func runHybrid(c json.RawMessage) error {
	var v struct {
		Groups    []group
		Tokens    int `json:"num_tokens"`
		Computed  int `json:"num_computed_tokens"`
		Budget    int `json:"budget_tokens"`
		StateGrid int `json:"state_grid"`
		Results   [][]answer
		Want      want
		Lookups   int
	}
	err := decode(c, &v, "groups", "num_tokens", "num_computed_tokens", "budget_tokens", "results", "want", "lookups")
	if err != nil {
		return err
	}
	wanted, err := v.Want.outcome(v.Want.Tokens)
	if err != nil {
		return err
	}
	layout := lookup.Layout{StateGrid: v.StateGrid}
	for _, g := range v.Groups {
		l, err := g.lookup()
		if err != nil {
			return err
		}
		layout.Groups = append(layout.Groups, l)
	}
	q := lookup.Query{Keys: allKeys(v.Results), Tokens: v.Tokens, Computed: v.Computed}
	return eachSource(v.Results, func(src lookup.Source) error {
		p, err := plan(layout, q, src, v.Budget)
		if err != nil {
			return err
		}
		err = differ(wanted, planned(p))
		if p.Asked > v.Lookups {
			err = errors.Join(err, fmt.Errorf("want %d lookups at most, got %d", v.Lookups, p.Asked))
		}
		return err
	})
}
