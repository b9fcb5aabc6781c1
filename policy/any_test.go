package policy_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/kvoffload/kvoffload/lookup"
	"github.com/kvoffload/kvoffload/policy"
)

// says is a policy with one answer, which counts what it is told.
type says struct {
	d         policy.Decision
	committed *[]policy.Snapshot
}

func (p says) Decide(policy.Snapshot) policy.Decision { return p.d }
func (p says) Commit(s policy.Snapshot)               { *p.committed = append(*p.committed, s) }

func fixed(d policy.Decision) policy.Policy {
	return policy.Func(func(policy.Snapshot) policy.Decision { return d })
}

func TestD6_AlwaysAndNever(t *testing.T) {
	for _, s := range []policy.Snapshot{{}, block(lookup.Retry, math.MaxInt64, math.MaxInt64), run(blocks(1, 16))} {
		assert.Equal(t, wait(0), policy.Always{}.Decide(s))
		assert.Equal(t, recompute(lookup.ReasonPolicy), policy.Never{}.Decide(s))
	}
}

func TestAny(t *testing.T) {
	key, budget := recompute(lookup.ReasonKeyDeadline), recompute(lookup.ReasonBudget)
	var nilPointer *says
	for _, tc := range []struct {
		name    string
		members []policy.Policy
		want    policy.Decision
	}{
		{"all wait", []policy.Policy{fixed(wait(0)), fixed(wait(0))}, wait(0)},
		{"the smallest that is not zero", []policy.Policy{fixed(wait(0)), fixed(wait(3)), fixed(wait(2)), fixed(wait(0)), fixed(wait(5))}, wait(2)},
		{"one recomputes", []policy.Policy{fixed(wait(3)), fixed(key)}, key},
		{"the first gives the reason", []policy.Policy{fixed(budget), fixed(key)}, budget},
		{"a negative After counts as none", []policy.Policy{fixed(wait(-1)), fixed(wait(7))}, wait(7)},
		{"an unknown verdict recomputes", []policy.Policy{fixed(policy.Decision{Verdict: 7, After: 3})}, recompute(lookup.ReasonPolicy)},
		{"nobody", nil, recompute(lookup.ReasonRefused)},
		{"nil", []policy.Policy{fixed(wait(0)), nil}, recompute(lookup.ReasonRefused)},
		{"a nil pointer", []policy.Policy{nilPointer}, recompute(lookup.ReasonRefused)},
		{"a nil func", []policy.Policy{policy.Func(nil)}, recompute(lookup.ReasonRefused)},
		{"nested", []policy.Policy{policy.Any(fixed(wait(4))), policy.Any(fixed(wait(3)), fixed(wait(9)))}, wait(3)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := policy.Any(tc.members...)
			for range 2 {
				assert.Equal(t, tc.want, p.Decide(policy.Snapshot{}))
			}
		})
	}
}

func TestAnyCopiesItsSlice(t *testing.T) {
	members := []policy.Policy{policy.Always{}, policy.Always{}}
	p := policy.Any(members...)
	members[0] = policy.Never{}
	assert.Equal(t, wait(0), p.Decide(policy.Snapshot{}))
}

func TestAnyForwardsCommit(t *testing.T) {
	var told []policy.Snapshot
	a := says{wait(0), &told}
	p := policy.Any(policy.Never{}, a, nil, policy.Any(a))
	s := run(blocks(2, 16))
	p.(policy.Accountant).Commit(s)
	assert.Equal(t, []policy.Snapshot{s, s}, told)
}

func TestCheck(t *testing.T) {
	const bad = lookup.Reason(200)
	byPolicy := recompute(lookup.ReasonPolicy)
	for _, tc := range []struct {
		name     string
		in, want policy.Decision
	}{
		{"zero", policy.Decision{}, byPolicy},
		{"wait", wait(3), wait(3)},
		{"wait has no reason", policy.Decision{Verdict: policy.Wait, Reason: bad}, wait(0)},
		{"negative After", wait(math.MinInt64), wait(0)},
		{"recompute has no After", policy.Decision{Reason: lookup.ReasonBudget, After: 3}, recompute(lookup.ReasonBudget)},
		{"unknown verdict", policy.Decision{Verdict: 2, Reason: lookup.ReasonStalled}, recompute(lookup.ReasonStalled)},
		{"unknown reason", recompute(bad), byPolicy},
		{"not stored is not for a policy to say", recompute(lookup.ReasonNotStored), byPolicy},
		{"nor is ready", recompute(lookup.ReasonReady), byPolicy},
		{"nor pending", recompute(lookup.ReasonPending), byPolicy},
		{"nor retry", recompute(lookup.ReasonRetry), byPolicy},
	} {
		t.Run(tc.name, func(t *testing.T) {
			assert.Equal(t, tc.want, policy.Check(tc.in))
			assert.Equal(t, tc.want, policy.Check(policy.Check(tc.in)))
		})
	}
}

func TestStrings(t *testing.T) {
	assert.Equal(t, "block run scope(9)", policy.Block.String()+" "+policy.Run.String()+" "+policy.Scope(9).String())
	assert.Equal(t, "recompute wait verdict(9)",
		policy.Recompute.String()+" "+policy.Wait.String()+" "+policy.Verdict(9).String())
}

func TestDecidingAllocatesNothing(t *testing.T) {
	b := newBucket(t, 1000, 1000).b
	p := policy.Any(policy.Stalled{}, policy.Deadline{Base: sec, PerThousandTokens: ms}, b, policy.Always{})
	snapshots := []policy.Snapshot{block(lookup.Pending, 0, 0), block(lookup.Retry, time.Hour, 0), run(blocks(2, 16))}
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		for _, s := range snapshots {
			p.Decide(s)
		}
		p.(policy.Accountant).Commit(snapshots[2])
	}))
}
