package policy_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/kvoffload/kvoffload/policy"
)

// broken is a user's policy that knows what is wrong with it.
type broken struct{ err error }

func (*broken) Decide(policy.Snapshot) policy.Decision { panic("not to be asked") }
func (b *broken) Validate() error                      { return b.err }

// plain is a user's policy that can't be wrong.
type plain struct{}

func (*plain) Decide(policy.Snapshot) policy.Decision { return policy.Decision{} }

var errUser = errors.New("the user's own")

func TestCase91_ValidateRefuses(t *testing.T) {
	const prefix = "policy: invalid policy: "
	for _, tc := range []struct {
		name string
		p    policy.Policy
		want string
	}{
		{"nil", nil, "policy is nil"},
		{"nil pointer", (*policy.Deadline)(nil), "policy is a nil *policy.Deadline"},
		{"nil pointer of the user's", (*broken)(nil), "policy is a nil *policy_test.broken"},
		{"nil func", policy.Func(nil), "Func is nil"},
		{"user's own", &broken{errUser}, "the user's own"},

		{"negative budget", policy.RecomputeBudget{MaxTokens: -1}, "RecomputeBudget.MaxTokens is -1, want 0 or more"},
		{"all of a budget", &policy.RecomputeBudget{MaxTokens: -1, Grace: -sec, Rate: new(policy.Rate)},
			"RecomputeBudget.MaxTokens is -1, want 0 or more\n" +
				"RecomputeBudget.Grace is -1s, want 0 or more\n" +
				"RecomputeBudget.Rate was not made by NewRate"},
		{"negative stall", policy.Stalled{After: -sec}, "Stalled.After is -1s, want 0 (the default), more, or NoLimit"},

		{"negative bounds", policy.Deadline{PerKey: -1, PerRetry: -2, PerRequest: -3, Max: -6},
			"Deadline.PerKey is -1ns, want 0 (the default), more, or NoLimit\n" +
				"Deadline.PerRetry is -2ns, want 0 (the default), more, or NoLimit\n" +
				"Deadline.PerRequest is -3ns, want 0 (the default), more, or NoLimit\n" +
				"Deadline.Max is -6ns, want 0 (the default), more, or NoLimit"},
		{"negative linear form", policy.Deadline{Base: -4, PerThousandTokens: -5},
			"Deadline.Base is -4ns, want 0 or more\n" +
				"Deadline.PerThousandTokens is -5ns, want 0 or more"},
		{"key above request", policy.Deadline{PerKey: 3 * sec, PerRequest: 2 * sec}, "Deadline.PerKey 3s is above PerRequest 2s"},
		{"retry above request", policy.Deadline{PerRetry: 3 * sec, PerRequest: 2 * sec}, "Deadline.PerRetry 3s is above PerRequest 2s"},
		{"key above the default request", policy.Deadline{PerKey: 30 * sec},
			"Deadline.PerKey 30s is above PerRequest's default 10s, set that too"},
		{"key above the cap", policy.Deadline{PerKey: 31 * sec, Base: sec}, "Deadline.PerKey 31s is above Max 30s, which caps PerRequest"},
		{"base above the cap", policy.Deadline{Base: 3 * sec, Max: 2 * sec}, "Deadline.Base 3s is above Max 2s"},
		{"base above the default cap", policy.Deadline{Base: time.Minute}, "Deadline.Base 1m0s is above Max 30s"},
		{"a cap of nothing", policy.Deadline{Max: sec}, "Deadline.Max 1s is set without Base or PerThousandTokens"},
		{"no cap of nothing", policy.Deadline{Max: policy.NoLimit}, "Deadline.Max NoLimit is set without Base or PerThousandTokens"},
		{"a slope of no limit", policy.Deadline{PerThousandTokens: policy.NoLimit},
			"Deadline.PerThousandTokens is NoLimit, which is for bounds and Max"},
		{"a base of no limit", policy.Deadline{Base: policy.NoLimit}, "Deadline.Base is NoLimit, which is for bounds and Max"},
		{"linear for nothing", policy.Deadline{PerKey: 1, PerRetry: 1, PerRequest: 1, Base: 1},
			"Deadline.Base and PerThousandTokens have no effect, all three bounds are set"},

		{"no members", policy.Any(), "Any has no members"},
		{"members", policy.Any(nil, policy.Always{}, (*plain)(nil), policy.RecomputeBudget{MaxTokens: -1, Grace: -1}, &broken{errUser},
			policy.Any(policy.Deadline{Base: -1, PerKey: -1}, policy.Any())),
			"Any[0]: policy is nil\n" +
				"Any[2]: policy is a nil *policy_test.plain\n" +
				"Any[3]: RecomputeBudget.MaxTokens is -1, want 0 or more\n" +
				"Any[3]: RecomputeBudget.Grace is -1ns, want 0 or more\n" +
				"Any[4]: the user's own\n" +
				"Any[5]: Any[0]: Deadline.PerKey is -1ns, want 0 (the default), more, or NoLimit\n" +
				"Any[5]: Any[0]: Deadline.Base is -1ns, want 0 or more\n" +
				"Any[5]: Any[1]: Any has no members"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := policy.Validate(tc.p)
			assert.ErrorIs(t, err, policy.ErrPolicy)
			assert.EqualError(t, err, prefix+tc.want)
		})
	}
	assert.ErrorIs(t, policy.Validate(policy.Any(policy.Any(&broken{errUser}))), errUser, "the user's error can be found")
}

func TestValidateAccepts(t *testing.T) {
	rate, err := policy.NewRate(1, 1)
	assert.NoError(t, err)
	for _, p := range []policy.Policy{
		policy.Always{}, policy.Never{}, &policy.Always{}, fixed(wait(0)), &plain{}, &broken{},
		policy.Deadline{}, &policy.Deadline{},
		policy.Deadline{PerRequest: sec},
		policy.Deadline{PerKey: 5 * sec, PerRetry: 10 * sec, PerRequest: 10 * sec},
		policy.Deadline{PerKey: policy.NoLimit, PerRequest: sec},
		policy.Deadline{PerKey: time.Minute, PerRequest: policy.NoLimit},
		policy.Deadline{PerKey: 30 * sec, PerThousandTokens: ms},
		policy.Deadline{PerKey: time.Hour, PerThousandTokens: ms, Max: policy.NoLimit},
		policy.Deadline{Base: time.Hour, Max: policy.NoLimit},
		policy.RecomputeBudget{}, policy.RecomputeBudget{MaxTokens: 512, Grace: sec, Rate: rate},
		policy.Stalled{}, policy.Stalled{After: policy.NoLimit},
		policy.Any(policy.Always{}), policy.Any(policy.Deadline{}, policy.Any(policy.RecomputeBudget{})),
	} {
		assert.NoError(t, policy.Validate(p), "%#v", p)
	}
}

func TestD6_Bounded(t *testing.T) {
	forever := block(0, 1e18, 1e18)
	user := &plain{}
	for _, p := range []policy.Policy{
		policy.Always{}, policy.Never{}, policy.Deadline{}, &policy.Deadline{}, user, policy.Any(policy.RecomputeBudget{}, policy.Always{}),
		policy.Any(user), policy.Any(policy.Any(policy.Deadline{PerRequest: policy.NoLimit})), policy.Any(),
	} {
		assert.Equal(t, p, policy.Bounded(p), "said how long to wait: %#v", p)
	}
	for _, p := range []policy.Policy{
		nil, policy.RecomputeBudget{MaxTokens: 512}, &policy.RecomputeBudget{}, policy.Stalled{},
		policy.Any(policy.RecomputeBudget{}, policy.Any(policy.Stalled{})),
	} {
		b := policy.Bounded(p)
		assert.NoError(t, policy.Validate(b))
		assert.Equal(t, policy.Recompute, b.Decide(forever).Verdict, "did not: %#v", p)
	}
	b := policy.Bounded(policy.RecomputeBudget{MaxTokens: 512})
	assert.Equal(t, cut, b.Decide(run(blocks(1, 16))), "the budget still cuts")
	assert.Error(t, policy.Validate(policy.Bounded(policy.RecomputeBudget{MaxTokens: -1})), "and its faults are still found")
}
