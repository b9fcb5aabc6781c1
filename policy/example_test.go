package policy_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/kvoffload/kvoffload/lookup"
	"github.com/kvoffload/kvoffload/policy"
)

func show(d policy.Decision) {
	if d.Verdict == policy.Wait {
		fmt.Println(d.Verdict, d.After)
		return
	}
	fmt.Println(d.Verdict, d.Reason)
}

func ExampleDeadline() {
	p := policy.Deadline{PerKey: 3 * time.Second, PerRequest: 8 * time.Second}

	show(p.Decide(policy.Snapshot{Result: lookup.Pending, KeyAge: 1 * time.Second, RequestAge: 1 * time.Second}))
	show(p.Decide(policy.Snapshot{Result: lookup.Pending, KeyAge: 3 * time.Second, RequestAge: 4 * time.Second}))
	show(p.Decide(policy.Snapshot{Result: lookup.Retry, KeyAge: 1 * time.Second, RequestAge: 8 * time.Second}))
	// Output:
	// wait 2s
	// recompute key_deadline
	// recompute request_deadline
}

// A bound that grows with the request, and has a cap.
func ExampleDeadline_linear() {
	p := policy.Deadline{Base: 2 * time.Second, PerThousandTokens: 100 * time.Millisecond, Max: 30 * time.Second}

	for _, tokens := range []int{1_000, 100_000, 1_000_000} {
		show(p.Decide(policy.Snapshot{Result: lookup.Pending, Tokens: tokens}))
	}
	// Output:
	// wait 2.1s
	// wait 12s
	// wait 30s
}

func ExampleRecomputeBudget() {
	p := policy.RecomputeBudget{MaxTokens: 100}
	run := func(blocks int) policy.Snapshot {
		return policy.Snapshot{
			Scope: policy.Run,
			Run:   lookup.Run{Blocks: blocks, TokensPerBlock: 32, Tokens: 32 * blocks},
		}
	}

	show(p.Decide(run(3))) // 100/32, rounded down
	show(p.Decide(run(4)))
	// Output:
	// recompute budget
	// wait 0s
}

// At most 1,000 tokens a second are computed because of cuts, by all requests
// together.
func ExampleNewRate() {
	rate, err := policy.NewRate(1000, 500)
	if err != nil {
		panic(err)
	}
	p := policy.RecomputeBudget{MaxTokens: 512, Rate: rate}
	s := policy.Snapshot{Scope: policy.Run, Run: lookup.Run{Blocks: 12, TokensPerBlock: 32, Tokens: 384}}

	show(p.Decide(s))
	p.Commit(s) // the cut has taken effect
	show(p.Decide(s))
	s.Now += 268 * time.Millisecond
	show(p.Decide(s))
	// Output:
	// recompute budget
	// wait 268ms
	// recompute budget
}

func ExampleStalled() {
	p := policy.Any(policy.Stalled{After: 30 * time.Second}, policy.Deadline{})

	show(p.Decide(policy.Snapshot{Result: lookup.Pending, WriteAge: 2 * time.Second}))
	show(p.Decide(policy.Snapshot{Result: lookup.Pending, WriteAge: 5 * time.Minute}))
	// Output:
	// wait 5s
	// recompute stalled
}

func ExampleAny() {
	p := policy.Any(
		policy.Deadline{PerKey: 5 * time.Second, PerRequest: 10 * time.Second},
		policy.RecomputeBudget{MaxTokens: 512},
	)

	show(p.Decide(policy.Snapshot{Scope: policy.Block, Result: lookup.Pending, KeyAge: 4 * time.Second}))
	show(p.Decide(policy.Snapshot{Scope: policy.Run, Run: lookup.Run{Blocks: 8, TokensPerBlock: 64, Tokens: 512}}))
	// Output:
	// wait 1s
	// recompute budget
}

func ExampleAlways() {
	show(policy.Always{}.Decide(policy.Snapshot{Result: lookup.Pending, KeyAge: 1000 * time.Hour}))
	// Output: wait 0s
}

func ExampleNever() {
	show(policy.Never{}.Decide(policy.Snapshot{Result: lookup.Pending}))
	// Output: recompute policy
}

// A policy of one's own: give a write more time the longer the prompt is that would
// have to be computed.
func ExampleFunc() {
	p := policy.Func(func(s policy.Snapshot) policy.Decision {
		if s.Scope != policy.Block {
			return policy.Decision{Verdict: policy.Wait} // no opinion
		}
		prefill := time.Duration(s.Tokens) * time.Second / 15_000
		if s.KeyAge >= prefill {
			return policy.Decision{Reason: lookup.ReasonPolicy}
		}
		return policy.Decision{Verdict: policy.Wait, After: prefill - s.KeyAge}
	})

	s := policy.Snapshot{Result: lookup.Pending, Tokens: 30_000}
	show(p.Decide(s))
	s.KeyAge = 2 * time.Second
	show(p.Decide(s))
	// Output:
	// wait 2s
	// recompute policy
}

func ExampleValidate() {
	err := policy.Validate(policy.Any(
		policy.Deadline{PerKey: 20 * time.Second, PerRequest: 10 * time.Second},
		policy.RecomputeBudget{MaxTokens: -1},
	))
	fmt.Println(err)
	fmt.Println(errors.Is(err, policy.ErrPolicy))
	// Output:
	// policy: invalid policy: Any[0]: Deadline.PerKey 20s is above PerRequest 10s
	// Any[1]: RecomputeBudget.MaxTokens is -1, want 0 or more
	// true
}

// A budget alone bounds no wait; Bounded sees to that.
func ExampleBounded() {
	p := policy.Bounded(policy.RecomputeBudget{MaxTokens: 512})

	show(p.Decide(policy.Snapshot{Result: lookup.Pending}))
	show(policy.Bounded(policy.Always{}).Decide(policy.Snapshot{Result: lookup.Pending}))
	// Output:
	// wait 5s
	// wait 0s
}

func ExampleCheck() {
	show(policy.Check(policy.Decision{Verdict: 77, Reason: 200}))
	show(policy.Check(policy.Decision{Verdict: policy.Wait, After: -time.Second}))
	// Output:
	// recompute policy
	// wait 0s
}
