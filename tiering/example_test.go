package tiering_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/kvoffload/kvoffload/lookup"
	"github.com/kvoffload/kvoffload/policy"
	"github.com/kvoffload/kvoffload/tiering"
	"github.com/kvoffload/kvoffload/tiering/tieringtest"
)

// A block is on a disk. The request waits for its promotion, is woken, and loads it.
func Example() {
	disk := tieringtest.NewTier("disk")
	m, err := tiering.New(tiering.Options{
		Layout:      lookup.Layout{Groups: []lookup.Group{{TokensPerBlock: 16}}},
		Primary:     tiering.PrimaryOptions{Blocks: 1024},
		Secondaries: []tiering.Secondary{disk},
	})
	if err != nil {
		panic(err)
	}
	key := lookup.KeyFrom64(1, 0)
	disk.Answer(lookup.Hit, key)

	r := m.Begin(tiering.RequestOptions{ID: "req-1"})
	defer r.End()
	p := r.Plan(lookup.Query{Keys: [][]lookup.Key{{key}}, Tokens: 17})
	fmt.Println(p.Action, p.Reason)
	m.EndStep() // the promotion is handed to the tier, which takes its time:
	for _, job := range disk.TakeLoads() {
		if err := job.Finish(nil); err != nil {
			panic(err)
		}
	}
	for _, woken := range m.Ready(nil) {
		p = woken.Replan()
		fmt.Println(woken.ID(), p.Action, p.Tokens)
		p.Claim.Release()
	}
	// Output:
	// wait pending
	// req-1 load 16
}

// A write that never ends is waited for as long as the deadline says, and reported.
func ExampleEvents() {
	mock := clock.NewMock()
	m, err := tiering.New(tiering.Options{
		Layout:  lookup.Layout{Groups: []lookup.Group{{TokensPerBlock: 16}}},
		Primary: tiering.PrimaryOptions{Blocks: 1024},
		Policy:  policy.Deadline{PerKey: 2 * time.Second},
		Clock:   mock,
		Events: tiering.Events{GaveUp: func(e tiering.GaveUpEvent) {
			fmt.Printf("%s gave up on a block that the %s has been writing for %v (%v)\n", e.Request, e.Tier, e.Age, e.Reason)
		}},
	})
	if err != nil {
		panic(err)
	}
	key := lookup.KeyFrom64(1, 0)
	writer := m.Begin(tiering.RequestOptions{ID: "writer"})
	defer writer.End()
	if _, err := writer.Store([]lookup.Key{key}, nil); err != nil {
		panic(err)
	}
	r := m.Begin(tiering.RequestOptions{ID: "reader"})
	defer r.End()
	p := r.Plan(lookup.Query{Keys: [][]lookup.Key{{key}}, Tokens: 17})
	mock.Add(p.Until)
	fmt.Println(r.Replan().Action)
	// Output:
	// reader gave up on a block that the primary has been writing for 2s (key_deadline)
	// recompute
}

// Every fault of the options is in one error.
func ExampleNew() {
	_, err := tiering.New(tiering.Options{Policy: policy.RecomputeBudget{MaxTokens: -1}})
	fmt.Println(errors.Is(err, tiering.ErrOptions))
	fmt.Println(err)
	// Output:
	// true
	// tiering: invalid options: Layout: lookup: invalid layout: Groups is empty
	// Primary.Blocks is 0, want 1 to 268435456
	// Policy: policy: invalid policy: RecomputeBudget.MaxTokens is -1, want 0 or more
}
