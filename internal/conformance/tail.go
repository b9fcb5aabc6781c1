package conformance

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/kvoffload/kvoffload/lookup"
)

// tailCase is one line of a tail file.
type tailCase struct {
	TokensPerBlock int `json:"tokens_per_block"`
	TokensPerHash  int `json:"tokens_per_hash"`
	Groups         []string
	Prompt         int `json:"num_prompt_tokens"`
	Tokens         int `json:"num_tokens"`
	Computed       int `json:"num_computed_tokens"`
	Results        [][]answer
	Budget         int  `json:"budget_tokens"`
	Complete       *int `json:"complete_hit"`
	Want           want
}

func runTail(c json.RawMessage) error {
	var v tailCase
	err := decode(c, &v, "tokens_per_block", "tokens_per_hash", "groups", "num_prompt_tokens", "num_tokens",
		"num_computed_tokens", "results", "budget_tokens", "complete_hit", "want")
	if err != nil {
		return err
	}
	wanted, err := v.Want.outcome(v.Want.Tokens)
	if err != nil {
		return err
	}
	return eachSource(v.Results, func(src lookup.Source) error {
		return errors.Join(differ(wanted, v.tail(src)), v.plan(src, wanted))
	})
}

// tail comes to the answer with the complete part as given.
func (v *tailCase) tail(src lookup.Source) outcome {
	if v.Complete == nil {
		return outcome{wait: true}
	}
	t := lookup.Tail(src, lookup.TailQuery{
		Keys:           allKeys(v.Results),
		TokensPerHash:  v.TokensPerHash,
		TokensPerBlock: v.TokensPerBlock,
		Complete:       v.Computed + *v.Complete,
		PromptTokens:   v.Prompt,
		Ready:          *v.Complete > 0,
	}, gate(v.Budget))
	if t.Boundary > 0 {
		return outcome{n: t.Boundary - v.Computed, tailBoundary: t.Boundary}
	}
	return outcome{wait: t.Wait, n: *v.Complete}
}

// plan comes to the answer from the beginning, where the case allows it: computed
// tokens that end inside a block put a complete block between them and some
// boundaries, about which Tail isn't asked.
func (v *tailCase) plan(src lookup.Source, wanted outcome) error {
	if v.Computed%v.TokensPerBlock != 0 {
		return nil
	}
	// The state of a group of one block is kept at the ends of blocks and of tails.
	layout := lookup.Layout{TokensPerHash: v.TokensPerHash, StateGrid: v.TokensPerBlock}
	q := lookup.Query{Tokens: v.Tokens, PromptTokens: v.Prompt, Computed: v.Computed, TailKeys: allKeys(v.Results)}
	perBlock := v.TokensPerBlock / v.TokensPerHash
	for g, kind := range v.Groups {
		group := lookup.Group{TokensPerBlock: v.TokensPerBlock}
		switch kind {
		case "full":
		case "mamba":
			group.Kind, group.WindowBlocks = lookup.SlidingWindow, 1
		default:
			return fmt.Errorf("unknown kind of group %q", kind)
		}
		layout.Groups = append(layout.Groups, group)
		var blocks []lookup.Key
		for i := perBlock - 1; i < len(q.TailKeys[g]); i += perBlock {
			blocks = append(blocks, q.TailKeys[g][i])
		}
		q.Keys = append(q.Keys, blocks)
	}
	p, err := plan(layout, q, src, v.Budget)
	if err == nil {
		err = differ(wanted, planned(p))
	}
	if err != nil {
		return fmt.Errorf("planned: %w", err)
	}
	return nil
}
