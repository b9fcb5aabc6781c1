package tiering_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvoffload/kvoffload/lookup"
	"github.com/kvoffload/kvoffload/tiering"
	"github.com/kvoffload/kvoffload/tiering/tieringtest"
)

func TestC1_BetweenPlanAndLoadNothingEvicts(t *testing.T) {
	m := newRig(t, blocks(4))
	m.stored(span(0, 4)...)
	r, other := m.begin("r"), m.begin("other")
	p := r.Plan(ask(span(0, 3)...))
	requireLoad(t, p, 3)
	_, err := other.Store(span(10, 12), nil)
	require.ErrorIs(t, err, tiering.ErrFull)
	j, err := other.Store(span(10, 11), nil)
	require.NoError(t, err)
	require.NoError(t, j.Finish(nil))
	for i := range 3 {
		require.Equal(t, lookup.Hit, r.Lookup(key(i)))
	}
	require.NoError(t, p.Claim.Release())
	j, err = other.Store(span(11, 13), nil)
	require.NoError(t, err)
	require.NoError(t, j.Finish(nil))
}

func TestC1_AClaimNamesTheBlocks(t *testing.T) {
	m := newRig(t)
	r := m.begin("r")
	j, err := r.Store(span(0, 4), nil)
	require.NoError(t, err)
	require.NoError(t, j.Finish(nil))
	q := ask(span(0, 4)...)
	q.Computed = perBlock + 3 // in the midst of block 1
	p := r.Plan(q)
	require.Equal(t, lookup.Load, p.Action)
	first, ids := p.Claim.Group(0)
	require.Equal(t, 1, first)
	require.Equal(t, []tiering.BlockID{j.Block(1).Block, j.Block(2).Block, j.Block(3).Block}, ids)
	_, ids = p.Claim.Group(1)
	require.Empty(t, ids)
}

func TestC2_ReleasedExactlyOnce(t *testing.T) {
	m := newRig(t)
	m.stored(span(0, 3)...)
	a, b := m.begin("a"), m.begin("b")
	pa, pb := a.Plan(ask(span(0, 3)...)), b.Plan(ask(span(0, 3)...))
	require.NoError(t, pa.Claim.Release())
	require.ErrorIs(t, pa.Claim.Release(), tiering.ErrReleased)
	require.Equal(t, 3, m.Stats().Claimed, "b's claims are untouched")
	require.NoError(t, pb.Claim.Release())
	require.Zero(t, m.Stats().Claimed)
	require.ErrorIs(t, tiering.Claim{}.Release(), tiering.ErrReleased)
}

func TestC2_EndReleasesWhatIsLeft(t *testing.T) {
	m := newRig(t)
	m.stored(span(0, 3)...)
	r := m.begin("r")
	p := r.Plan(ask(span(0, 3)...))
	c, err := r.Claim(span(0, 2), nil)
	require.NoError(t, err)
	require.Equal(t, 3, m.Stats().Claimed)
	r.End()
	m.atRest()
	require.ErrorIs(t, p.Claim.Release(), tiering.ErrReleased)
	require.ErrorIs(t, c.Release(), tiering.ErrReleased)
	_, ids := p.Claim.Group(0)
	require.Empty(t, ids)
}

func TestC2_RepeatedPlansDoNotStackClaims(t *testing.T) {
	m := newRig(t, blocks(8))
	m.stored(span(0, 6)...)
	r := m.begin("r")
	var p tiering.Plan
	for i := range 100 {
		p = r.Plan(ask(span(0, 1+i%6)...)) // more and fewer blocks
		requireLoad(t, p, 1+i%6)
	}
	require.Equal(t, 6, m.Stats().Claimed, "what may still be being copied stays claimed")
	require.NoError(t, p.Claim.Release())
	m.mustHaveNoClaims()

	p = r.Plan(ask(span(0, 3)...))
	p2 := r.Replan()
	requireLoad(t, p2, 3)
	require.ErrorIs(t, p.Claim.Release(), tiering.ErrReleased, "the second plan has taken over")
	require.NoError(t, p2.Claim.Release())
	m.mustHaveNoClaims()
}

func (r *rig) mustHaveNoClaims() {
	r.t.Helper()
	require.Zero(r.t, r.Stats().Claimed)
}

func TestC2_APlanThatLoadsNothingLeavesTheClaim(t *testing.T) {
	m := newRig(t)
	m.stored(span(0, 3)...)
	r := m.begin("r")
	p := r.Plan(ask(span(0, 3)...))
	requireRecompute(t, r.Plan(ask(key(9))), lookup.ReasonNotStored)
	require.Equal(t, 3, m.Stats().Claimed)
	require.NoError(t, p.Claim.Release())
	m.mustHaveNoClaims()
}

func TestC2_ADetachedClaimOutlivesItsRequest(t *testing.T) {
	m := newRig(t)
	m.stored(span(0, 3)...)
	r := m.begin("r")
	p := r.Plan(ask(span(0, 3)...))
	_, ids := p.Claim.Group(0)
	d, err := p.Claim.Detach()
	require.NoError(t, err)
	require.Equal(t, ids, d.Blocks())
	require.ErrorIs(t, p.Claim.Release(), tiering.ErrReleased)
	_, err = p.Claim.Detach()
	require.ErrorIs(t, err, tiering.ErrReleased)
	r.End()
	require.Equal(t, 3, m.Stats().Claimed)
	require.NoError(t, d.Release())
	m.atRest()
}

func TestC2_ClaimIsAllOrNothing(t *testing.T) {
	m := newRig(t)
	m.stored(span(0, 2)...)
	r := m.begin("r")
	_, err := r.Claim([]lookup.Key{key(0), key(1), key(5)}, nil)
	require.ErrorIs(t, err, tiering.ErrNotResident)
	require.ErrorContains(t, err, key(5).String())
	m.mustHaveNoClaims()
	a, err := r.Claim([]lookup.Key{key(0), key(0)}, nil)
	require.NoError(t, err)
	require.Len(t, a.Blocks(), 2)
	b, err := r.Claim(span(0, 1), nil)
	require.NoError(t, err)
	require.NoError(t, a.Release())
	require.Equal(t, 1, m.Stats().Claimed)
	require.NoError(t, b.Release())
	m.mustHaveNoClaims()
}

// While a request waits it claims nothing, so what it once saw may go; the plan that
// ends the wait must notice.
func TestC3_APlanShrinksToWhatIsStillThere(t *testing.T) {
	m := newRig(t, blocks(4))
	m.stored(span(0, 3)...)
	j := m.writing(key(3))
	r := m.begin("r")
	requireWait(t, r.Plan(ask(span(0, 4)...)), lookup.ReasonPending)
	m.Touch([]lookup.Key{key(0), key(1)})
	m.stored(key(10)) // evicts key 2
	require.NoError(t, j.Finish(nil))
	requireLoad(t, r.Replan(), 2)
}

func TestS8_DuplicateKeysAreEachAnswered(t *testing.T) {
	m := newRig(t)
	m.stored(key(0))
	r := m.begin("r")
	p := r.Plan(ask(key(0), key(0), key(0)))
	requireLoad(t, p, 3)
	_, ids := p.Claim.Group(0)
	require.Equal(t, []tiering.BlockID{ids[0], ids[0], ids[0]}, ids)
	require.NoError(t, p.Claim.Release())
	m.mustHaveNoClaims()
}

func TestP3_APromotedBlockIsHeldForWhoAskedForIt(t *testing.T) {
	disk := tieringtest.NewTier("disk")
	disk.Answer(lookup.Hit, span(0, 2)...)
	m := newRig(t, tier(disk), blocks(2), promotionBlocks(tiering.NoLimit))
	r, other := m.begin("r"), m.begin("other")
	requireWait(t, r.Plan(ask(span(0, 2)...)), lookup.ReasonPending)
	m.EndStep()
	require.NoError(t, disk.TakeLoads()[0].Finish(nil))
	_, err := other.Store(span(5, 6), nil)
	require.ErrorIs(t, err, tiering.ErrFull, "landed, and not read yet")
	p := r.Replan()
	requireLoad(t, p, 2)
	require.NoError(t, p.Claim.Release())
	_, err = other.Store(span(5, 6), nil)
	require.NoError(t, err)

	// A request that ends lets go as well.
	r.End()
	require.Zero(t, m.Stats().Promoting)
}

func TestS8_AnInvalidQueryIsRefusedAndCountsNothing(t *testing.T) {
	var events []tiering.PlanEvent
	m := newRig(t, hooks(func(e *tiering.Events) {
		e.Planned = func(e tiering.PlanEvent) { events = append(events, e) }
	}))
	m.stored(key(0))
	r := m.begin("r")
	requireLoad(t, r.Plan(ask(key(0))), 1)
	for _, q := range []lookup.Query{
		{Keys: [][]lookup.Key{span(0, 3)}, Tokens: perBlock},
		{Keys: [][]lookup.Key{span(0, 1), nil}, Tokens: perBlock},
		{Tokens: -1},
	} {
		p := r.Plan(q)
		require.ErrorIs(t, p.Err, lookup.ErrQuery)
		require.Equal(t, lookup.Plan{Reason: lookup.ReasonRefused}, p.Plan)
		require.ErrorIs(t, r.Replan().Err, lookup.ErrQuery, "there is nothing to ask again")
	}
	for _, e := range events[1:] {
		require.Zero(t, e.Answers)
		require.Zero(t, e.Tokens)
	}
	require.Len(t, events, 7)
	r.End()
	m.atRest()
}
