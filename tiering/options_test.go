package tiering_test

import (
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"

	"github.com/kvoffload/kvoffload/lookup"
	"github.com/kvoffload/kvoffload/policy"
	"github.com/kvoffload/kvoffload/tiering"
	"github.com/kvoffload/kvoffload/tiering/tieringtest"
)

func TestCase91_EveryFaultOfTheOptionsIsInOneError(t *testing.T) {
	var nilTier *tieringtest.Tier
	_, err := tiering.New(tiering.Options{
		Layout:  lookup.Layout{Groups: []lookup.Group{{TokensPerBlock: 0}, {TokensPerBlock: 16, Kind: lookup.SlidingWindow}}},
		Primary: tiering.PrimaryOptions{Blocks: -1, PromotionBlocks: -2},
		Secondaries: []tiering.Secondary{
			nil, nilTier, tieringtest.NewTier(""), tieringtest.NewTier("a"), tieringtest.NewTier("a"), tieringtest.NewTier("primary"),
		},
		Policy:           policy.Deadline{PerKey: -1},
		StalledAfter:     -1,
		FailedLoadMemory: -1,
	})
	require.ErrorIs(t, err, tiering.ErrOptions)
	for _, want := range []string{
		"Groups[0].TokensPerBlock is 0, want 1 to", "Groups[1].WindowBlocks is 0, want 1 to",
		"Primary.Blocks is -1, want 1 to", "Primary.PromotionBlocks is -2",
		"Secondaries[0] is nil", "Secondaries[1].Name: panicked", "Secondaries[2].Name is empty",
		`Secondaries[4].Name "a" is taken`, `Secondaries[5].Name "primary" is taken`,
		"Policy: policy: invalid policy: Deadline.PerKey is -1ns", "StalledAfter is -1ns", "FailedLoadMemory is -1ns",
	} {
		require.ErrorContains(t, err, want)
	}
}

// panicClock is a clock whose Now panics when told to.
type panicClock struct {
	*clock.Mock
	panics bool
}

func (c *panicClock) Now() time.Time {
	if c.panics {
		panic("no time")
	}
	return c.Mock.Now()
}

func TestP10_AClockThatPanicsStandsStill(t *testing.T) {
	c := &panicClock{Mock: clock.NewMock(), panics: true}
	o := tiering.Options{
		Layout:  lookup.Layout{Groups: []lookup.Group{{TokensPerBlock: perBlock}}},
		Primary: tiering.PrimaryOptions{Blocks: 4},
		Clock:   c,
	}
	_, err := tiering.New(o)
	require.ErrorContains(t, err, "Clock.Now panicked: no time")
	c.panics = false
	m, err := tiering.New(o)
	require.NoError(t, err)
	c.panics = true
	r := m.Begin(tiering.RequestOptions{})
	j, err := r.Store(span(0, 1), nil)
	require.NoError(t, err)
	require.Equal(t, lookup.Wait, r.Plan(ask(key(0))).Action)
	require.NoError(t, j.Finish(nil))
	require.Equal(t, lookup.Load, r.Replan().Action)
	r.End()
	require.Positive(t, m.Stats().Faults)
}

// A budget alone does not make anyone wait for ever.
func TestD6_ABudgetAloneIsBounded(t *testing.T) {
	m := newRig(t, with(policy.RecomputeBudget{}))
	m.writing(key(0))
	p := m.begin("r").Plan(ask(key(0)))
	requireWait(t, p, lookup.ReasonPending)
	require.Equal(t, policy.DefaultPerKey, p.Until)
	m = newRig(t, with(policy.Always{}))
	m.writing(key(0))
	p = m.begin("r").Plan(ask(key(0)))
	requireWait(t, p, lookup.ReasonPending)
	require.Zero(t, p.Until, "no limit, as was said")
}
