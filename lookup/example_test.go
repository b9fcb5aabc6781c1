package lookup_test

import (
	"fmt"

	"github.com/kvoffload/kvoffload/lookup"
)

// A server with its own block manager makes that a Source.
func ExamplePrefix() {
	chain, err := lookup.NewChain(lookup.ChainOptions{TokensPerBlock: 4})
	if err != nil {
		panic(err)
	}
	keys := chain.Extend([]uint32{10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21})
	stored := map[lookup.Key]lookup.Result{
		keys[0]: lookup.Hit,
		keys[1]: lookup.Hit,
		keys[2]: lookup.Pending, // its write is in flight
	}
	source := lookup.SourceFunc(func(k lookup.Key) lookup.Result { return stored[k] })

	found := lookup.Prefix(source, keys, 4, nil)
	fmt.Println("patient:", found.Wait, found.Reason)

	// Four tokens are computed faster than waited for.
	cheap := lookup.GateFunc(func(r lookup.Run) bool { return r.Tokens <= 4 })
	found = lookup.Prefix(source, keys, 4, cheap)
	fmt.Println("in a hurry:", found.Blocks, "blocks,", found.Reason)
	// Output:
	// patient: true pending
	// in a hurry: 2 blocks, budget
}

// A model with full-attention layers and layers that look back 8 tokens.
func ExampleScanner_Plan() {
	scanner, err := lookup.NewScanner(lookup.Layout{Groups: []lookup.Group{
		{TokensPerBlock: 4},
		{Kind: lookup.SlidingWindow, TokensPerBlock: 4, WindowBlocks: 2},
	}})
	if err != nil {
		panic(err)
	}
	chain, err := lookup.NewChain(lookup.ChainOptions{TokensPerBlock: 4})
	if err != nil {
		panic(err)
	}
	chain.Append(10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22)
	query := lookup.Query{Keys: make([][]lookup.Key, 2), Tokens: chain.Tokens()}
	for group := range query.Keys {
		if query.Keys[group], err = chain.AppendKeys(nil, uint32(group), 4); err != nil {
			panic(err)
		}
	}
	// The window of the second group was kept where the prompt was 8 tokens long.
	last := query.Keys[1][2]
	source := lookup.SourceFunc(func(k lookup.Key) lookup.Result {
		if k == last {
			return lookup.Miss
		}
		return lookup.Hit
	})
	plan, err := scanner.Plan(&query, source, nil)
	if err != nil {
		panic(err)
	}
	fmt.Println(plan.Action, plan.Tokens, "tokens:", plan.Reason)
	for group := range query.Keys {
		first, end := scanner.Blocks(group, query.Computed, plan.Tokens)
		fmt.Printf("group %d: blocks %d to %d\n", group, first, end-1)
	}
	// Output:
	// load 8 tokens: ready
	// group 0: blocks 0 to 1
	// group 1: blocks 0 to 1
}

// A request grows; only what is added is hashed.
func ExampleChain() {
	chain, err := lookup.NewChain(lookup.ChainOptions{TokensPerBlock: 4, Salt: []byte("tenant 7")})
	if err != nil {
		panic(err)
	}
	fmt.Println(chain.Extend([]uint32{1, 2, 3, 4, 5, 6}))
	fmt.Println(chain.Extend([]uint32{7}))
	fmt.Println(chain.Extend([]uint32{8}))
	fmt.Println(chain.Tokens(), "tokens,", len(chain.Keys()), "blocks")
	// Output:
	// [0:4e9d9011182ac4b7]
	// []
	// [0:9069e775eba90f95]
	// 8 tokens, 2 blocks
}
