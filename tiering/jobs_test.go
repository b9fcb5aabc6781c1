package tiering_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kvoffload/kvoffload/lookup"
	"github.com/kvoffload/kvoffload/policy"
	"github.com/kvoffload/kvoffload/tiering"
	"github.com/kvoffload/kvoffload/tiering/tieringtest"
)

func TestP1_OnePromotionPerKeyAndOneJobPerTierAndRequest(t *testing.T) {
	first, second := tieringtest.NewTier("first"), tieringtest.NewTier("second")
	first.Answer(lookup.Hit, span(0, 2)...)
	second.Answer(lookup.Hit, span(0, 4)...)
	m := newRig(t, tier(first), tier(second))
	a, b := m.begin("a"), m.begin("b")
	requireWait(t, a.Plan(ask(span(0, 3)...)), lookup.ReasonPending)
	requireWait(t, b.Plan(ask(span(0, 4)...)), lookup.ReasonPending)
	require.Equal(t, 4, m.Stats().Pending, "reserved at once")
	m.EndStep()
	names := func(jobs []*tiering.Job) (list []any) {
		for _, j := range jobs {
			list = append(list, j.Request())
			for i := range j.Len() {
				list = append(list, j.Block(i).Key)
			}
		}
		return list
	}
	require.Equal(t, []any{"a", key(0), key(1)}, names(first.TakeLoads()))
	require.Equal(t, []any{"a", key(2), "b", key(3)}, names(second.TakeLoads()))
	require.Equal(t, 4, first.Asked(), "what is pending is not asked for again")
	require.Equal(t, 2, second.Asked(), "what another tier has is not asked for")
}

func TestP2_PromotionsLeaveRoomForStores(t *testing.T) {
	disk := tieringtest.NewTier("disk")
	disk.AnswerOthers(lookup.Hit)
	m := newRig(t, tier(disk), blocks(8), promotionBlocks(5))
	requireWait(t, m.begin("a").Plan(ask(span(0, 4)...)), lookup.ReasonPending)
	requireWait(t, m.begin("b").Plan(ask(span(4, 8)...)), lookup.ReasonPending)
	requireRecompute(t, m.begin("c").Plan(ask(span(8, 9)...)), lookup.ReasonNotStored)
	require.Equal(t, 5, m.Stats().Promoting)
	m.writing(span(20, 23)...)
}

func TestP4_AFailedLoadCostsExactlyItsKeysAndIsNotRepeated(t *testing.T) {
	disk := tieringtest.NewTier("disk")
	disk.AnswerOthers(lookup.Hit)
	m := newRig(t, tier(disk))
	r := m.begin("r")
	requireWait(t, r.Plan(ask(span(0, 3)...)), lookup.ReasonPending)
	m.EndStep()
	j := disk.TakeLoads()[0]
	require.NoError(t, j.Done(1, errDisk))
	require.Equal(t, lookup.Miss, r.Lookup(key(1)))
	require.NoError(t, j.Finish(nil))
	require.Equal(t, lookup.Hit, r.Lookup(key(0)))
	require.Equal(t, lookup.Hit, r.Lookup(key(2)))
	p := r.Replan()
	requireLoad(t, p, 1)
	require.NoError(t, p.Claim.Release())
	requireRecompute(t, m.begin("s").Plan(ask(key(1))), lookup.ReasonNotStored)
	require.EqualValues(t, 2, m.Stats().Withdrawn)
	m.EndStep()
	require.Empty(t, disk.TakeLoads(), "not promoted again")

	// The memory is bounded in time,
	m.clock.Add(tiering.DefaultFailedLoadMemory)
	requireWait(t, m.begin("t").Plan(ask(key(1))), lookup.ReasonPending)
	m.EndStep()
	require.NoError(t, disk.TakeLoads()[0].Finish(errDisk))
	// and a store of the key ends it.
	m.stored(key(1))
	m.stored(span(50, 66)...) // which then leaves the primary
	requireWait(t, m.begin("u").Plan(ask(key(1))), lookup.ReasonPending)
}

func TestP4_NoRoomIsLostToFailedLoads(t *testing.T) {
	disk := tieringtest.NewTier("disk")
	disk.AnswerOthers(lookup.Hit)
	m := newRig(t, tier(disk), blocks(4), promotionBlocks(4))
	for i := range 50 {
		r := m.Begin(tiering.RequestOptions{})
		requireWait(t, r.Plan(ask(span(4*i, 4*i+4)...)), lookup.ReasonPending)
		m.EndStep()
		require.NoError(t, disk.TakeLoads()[0].Finish(errDisk))
		r.End()
	}
	m.atRest()
	require.Equal(t, 4, m.Stats().Free)
}

func TestP5_LateRepeatedAndForeignCompletionsChangeNothing(t *testing.T) {
	m := newRig(t)
	j := m.writing(span(0, 2)...)
	require.NoError(t, j.Done(0, nil))
	require.ErrorIs(t, j.Done(0, errDisk), tiering.ErrJob)
	require.ErrorIs(t, j.Done(2, nil), tiering.ErrJob)
	require.ErrorIs(t, j.Done(-1, nil), tiering.ErrJob)
	require.NoError(t, j.Finish(nil))
	require.ErrorIs(t, j.Finish(errDisk), tiering.ErrJob)
	require.ErrorIs(t, j.Done(1, errDisk), tiering.ErrJob)
	r := m.begin("r")
	require.Equal(t, lookup.Hit, r.Lookup(key(0)))
	require.Equal(t, lookup.Hit, r.Lookup(key(1)))
	require.EqualValues(t, 5, m.Stats().Late)
	require.Len(t, tieringtest.Of[tiering.LateEvent](m.rec), 5)
	require.Len(t, tieringtest.Of[tiering.JobEvent](m.rec), 1, "ended once")
}

func TestP6_KeysNamedInTheCallAreNotEvictedForIt(t *testing.T) {
	m := newRig(t, blocks(4))
	m.stored(span(0, 4)...)
	r := m.begin("r")
	// Key 3 is the oldest.
	j, err := r.Store([]lookup.Key{key(10), key(3), key(11), key(12)}, nil)
	require.NoError(t, err)
	require.Equal(t, 3, j.Len())
	require.Equal(t, 2, j.Block(1).Index)
	require.Equal(t, lookup.Hit, r.Lookup(key(3)))
	require.NoError(t, j.Finish(nil))
	require.Zero(t, m.Stats().Claimed)
}

func TestP6_AllOrNothing(t *testing.T) {
	m := newRig(t, blocks(4))
	m.stored(span(0, 3)...)
	r := m.begin("r")
	_, err := r.Claim(span(0, 3), nil)
	require.NoError(t, err)
	before := m.Stats()
	_, err = r.Store(span(10, 12), nil)
	require.ErrorIs(t, err, tiering.ErrFull)
	after := m.Stats()
	require.EqualValues(t, 2, after.StoreRefusals)
	after.StoreRefusals = 0
	require.Equal(t, before, after)
	// A key given twice takes one block.
	j, err := r.Store([]lookup.Key{key(10), key(10), key(0)}, nil)
	require.NoError(t, err)
	require.Equal(t, 1, j.Len())
	require.NoError(t, j.Finish(nil))
}

func TestP6_NothingToStore(t *testing.T) {
	m := newRig(t)
	m.stored(key(0))
	m.writing(key(1))
	r := m.begin("r")
	j, err := r.Store(span(0, 2), []int{16, 32})
	require.NoError(t, err)
	require.Zero(t, j.Len())
	require.NoError(t, j.Finish(nil))
	require.Zero(t, m.Stats().Late)
	j, err = r.Store(nil, nil)
	require.NoError(t, err)
	require.NoError(t, j.Finish(nil))
}

func TestP6_SenselessStoresAreRefusedWithEveryFault(t *testing.T) {
	m := newRig(t)
	r := m.begin("r")
	_, err := r.Store([]lookup.Key{{Group: 64}, {}}, []int{-1})
	require.ErrorIs(t, err, tiering.ErrStore)
	require.ErrorContains(t, err, "1 ends for 2 keys")
	require.ErrorContains(t, err, "ends[0] is -1")
	require.ErrorContains(t, err, "keys[0].Group is 64, want less than 64")
}

func TestP7_TheTailOfAPrefixGoesBeforeItsHead(t *testing.T) {
	m := newRig(t, blocks(5))
	r := m.begin("r")
	j, err := r.Store(span(0, 4), []int{16, 32, 48, 64})
	require.NoError(t, err)
	require.NoError(t, j.Finish(nil))
	r.End()
	m.stored(key(8))
	for i := 3; i >= 1; i-- {
		m.stored(key(10 + i))
		evicted := tieringtest.Of[tiering.EvictedEvent](m.rec)
		require.Equal(t, key(i), evicted[len(evicted)-1].Key)
	}
}

func TestP8_AStoreCascadesOnceItIsAHitAndAPromotionDoesNot(t *testing.T) {
	a, b := tieringtest.NewTier("a"), tieringtest.NewTier("b")
	m := newRig(t, tier(a), tier(b))
	j := m.writing(span(0, 3)...)
	m.EndStep()
	require.Empty(t, a.TakeStores(), "still pending")
	require.NoError(t, j.Done(0, nil))
	require.NoError(t, j.Done(1, errDisk))
	m.EndStep()
	jobs := a.TakeStores()
	require.Len(t, jobs, 1)
	require.Equal(t, key(0), jobs[0].Block(0).Key)
	require.Equal(t, 1, jobs[0].Len())
	require.NoError(t, j.Finish(nil))
	m.EndStep()
	jobs = append(jobs, a.TakeStores()...)
	require.Equal(t, key(2), jobs[1].Block(0).Key)
	require.Equal(t, 2, m.Stats().Claimed, "readable as long as they are being copied")
	for _, j := range append(jobs, b.TakeStores()...) {
		require.NoError(t, j.Finish(nil))
	}
	m.atRest()

	a.Answer(lookup.Hit, key(7))
	r := m.begin("r")
	requireWait(t, r.Plan(ask(key(7))), lookup.ReasonPending)
	m.EndStep()
	require.NoError(t, a.TakeLoads()[0].Finish(nil))
	m.EndStep()
	require.Empty(t, a.TakeStores())
	require.Empty(t, b.TakeStores())
}

func TestP8_WithoutEndStepTheQueueIsBounded(t *testing.T) {
	a := tieringtest.NewTier("a")
	m := newRig(t, tier(a), blocks(4))
	for i := range 200 {
		m.stored(key(i))
		require.LessOrEqual(t, tiering.Queued(m.Manager), 2*4)
	}
	m.EndStep()
	jobs := a.TakeStores()
	require.Len(t, jobs, 1)
	require.Equal(t, 4, jobs[0].Len(), "what is still there is offered")
}

func TestP8_ADeclineIsCountedAndNoFailure(t *testing.T) {
	a := tieringtest.NewTier("a")
	m := newRig(t, tier(a))
	a.Refuse(tiering.ErrDeclined)
	m.stored(key(0))
	m.EndStep()
	require.EqualValues(t, 1, m.Stats().Declined)
	require.Len(t, tieringtest.Of[tieringtest.Declined](m.rec), 1)
	m.atRest()
}

func TestP9_EndAtAnyMoment(t *testing.T) {
	disk := tieringtest.NewTier("disk")
	disk.Answer(lookup.Hit, key(0))
	m := newRig(t, tier(disk))
	r := m.Begin(tiering.RequestOptions{ID: "r"})
	requireWait(t, r.Plan(ask(key(0))), lookup.ReasonPending)
	r.End() // before the promotion was handed over
	r.End()
	require.ErrorIs(t, r.Plan(ask(key(0))).Err, tiering.ErrEnded)
	require.ErrorIs(t, r.Replan().Err, tiering.ErrEnded)
	require.Equal(t, lookup.Miss, r.Lookup(key(0)))
	m.EndStep()
	require.NoError(t, disk.TakeLoads()[0].Finish(nil))
	m.atRest()
	requireLoad(t, m.begin("s").Plan(ask(key(0))), 1)

	s := m.Begin(tiering.RequestOptions{ID: "s"})
	j, err := s.Store(span(5, 7), nil)
	require.NoError(t, err)
	s.End()
	require.NoError(t, j.Finish(nil))
	require.Equal(t, lookup.Hit, m.begin("t").Lookup(key(5)))
}

func TestP9_AfterResetNothingOldIsServed(t *testing.T) {
	disk := tieringtest.NewTier("disk")
	disk.Answer(lookup.Hit, key(3))
	m := newRig(t, tier(disk), blocks(4))
	m.stored(span(0, 2)...)
	writing := m.writing(key(2))
	old := m.begin("old")
	p := old.Plan(ask(span(0, 2)...))
	requireLoad(t, p, 2)
	waiting := m.begin("waiting")
	requireWait(t, waiting.Plan(ask(key(3))), lookup.ReasonPending)

	m.Reset()
	require.Equal(t, []*tiering.Request{waiting}, m.Ready(nil), "not left to wait for ever")
	require.ErrorIs(t, waiting.Replan().Err, tiering.ErrReset)
	_, err := old.Store(span(5, 6), nil)
	require.ErrorIs(t, err, tiering.ErrReset, "its KV is of the old weights")
	r := m.begin("new")
	for i := range 4 {
		require.Equal(t, lookup.Miss, r.Lookup(key(i)))
	}
	// What is claimed or being written can't be reused yet.
	require.Equal(t, 3, m.Stats().Draining)
	_, err = r.Store(span(10, 12), nil)
	require.ErrorIs(t, err, tiering.ErrFull)
	// The late write of the old generation is not served either.
	require.NoError(t, writing.Finish(nil))
	require.Equal(t, lookup.Miss, r.Lookup(key(2)))
	require.NoError(t, p.Claim.Release())
	require.Zero(t, m.Stats().Draining)
	j, err := r.Store(span(0, 4), nil)
	require.NoError(t, err)
	require.Equal(t, 4, j.Len())
}

func TestP10_NothingOfTheUsersBreaksTheManager(t *testing.T) {
	panicky := policy.Func(func(policy.Snapshot) policy.Decision { panic("policy") })
	senseless := policy.Func(func(policy.Snapshot) policy.Decision {
		return policy.Decision{Verdict: 77, Reason: 99, After: -5}
	})
	for _, p := range []policy.Policy{panicky, senseless} {
		m := newRig(t, with(p))
		j := m.writing(key(0))
		require.Equal(t, lookup.Recompute, m.begin("r").Plan(ask(key(0))).Action)
		require.NoError(t, j.Finish(nil))
		requireLoad(t, m.begin("s").Plan(ask(key(0))), 1)
	}

	disk := tieringtest.NewTier("disk")
	m := newRig(t, tier(disk), hooks(func(e *tiering.Events) {
		e.WaitEnded = func(tiering.WaitEvent) { panic("hook") }
	}))
	disk.PanicIn("Lookup", "lookup")
	requireRecompute(t, m.begin("a").Plan(ask(key(0))), lookup.ReasonNotStored)
	disk.PanicIn("Lookup", nil)
	disk.AnswerOthers(lookup.Result(200))
	requireRecompute(t, m.begin("b").Plan(ask(key(0))), lookup.ReasonNotStored)
	disk.AnswerOthers(lookup.Hit)
	disk.PanicIn("Load", "load")
	disk.PanicIn("Store", "store")
	disk.PanicIn("EndStep", "step")
	r := m.begin("c")
	requireWait(t, r.Plan(ask(key(0))), lookup.ReasonPending)
	m.stored(key(9))
	m.EndStep()
	requireRecompute(t, r.Replan(), lookup.ReasonNotStored)
	var where []string
	for _, e := range tieringtest.Of[tiering.PanicEvent](m.rec) {
		where = append(where, e.Where)
	}
	require.Equal(t, []string{
		"tier disk Lookup", "tier disk Lookup", "tier disk Load", "tier disk Store", "tier disk EndStep", "hook",
	}, where)
	require.EqualValues(t, 6, m.Stats().Faults)
	r.End()
	require.Zero(t, m.Stats().Pending+m.Stats().Claimed+m.Stats().Promoting)
}

// Hooks, tiers and policies are called without a lock, so they may call back.
func TestP10_CallingBackDoesNotDeadlock(t *testing.T) {
	var m *rig
	calls := 0
	m = newRig(t, hooks(func(e *tiering.Events) {
		e.JobEnded = func(tiering.JobEvent) { calls++; m.EndStep(); m.Stats() }
		e.Planned = func(tiering.PlanEvent) { calls++; m.Stats(); m.Touch(span(0, 1)) }
	}), with(policy.Func(func(s policy.Snapshot) policy.Decision {
		m.Stats()
		return policy.Decision{Verdict: policy.Wait, After: time.Second}
	})))
	j := m.writing(key(0))
	r := m.begin("r")
	requireWait(t, r.Plan(ask(key(0))), lookup.ReasonPending)
	require.NoError(t, j.Finish(nil))
	requireLoad(t, r.Replan(), 1)
	require.Equal(t, 3, calls)
}

func TestP10_AHookThatEndsTheRequestInTheMidstOfItsPlan(t *testing.T) {
	var m *rig
	var r *tiering.Request
	ended := false
	m = newRig(t, with(policy.Func(func(policy.Snapshot) policy.Decision {
		if !ended {
			require.ErrorIs(t, r.Plan(ask(key(0))).Err, tiering.ErrBusy)
		}
		r.End()
		ended = true
		return policy.Decision{Verdict: policy.Wait}
	})))
	m.stored(key(0))
	j := m.writing(key(1))
	r = m.Begin(tiering.RequestOptions{ID: "r"})
	p := r.Plan(ask(span(0, 2)...))
	require.ErrorIs(t, p.Err, tiering.ErrEnded)
	require.Equal(t, lookup.Recompute, p.Action)
	require.NoError(t, j.Finish(nil))
	m.atRest()
}

func TestCloseRefusesWhatFollows(t *testing.T) {
	disk := tieringtest.NewTier("disk")
	disk.AnswerOthers(lookup.Hit)
	m := newRig(t, tier(disk))
	r := m.begin("r")
	requireWait(t, r.Plan(ask(key(0))), lookup.ReasonPending)
	require.NoError(t, m.Close())
	require.ErrorIs(t, m.Close(), tiering.ErrClosed)
	require.ErrorIs(t, r.Replan().Err, tiering.ErrClosed)
	require.ErrorIs(t, m.begin("s").Plan(ask(key(0))).Err, tiering.ErrClosed)
	require.Zero(t, m.Stats().Pending, "what no tier knows of yet is dropped")
	require.ErrorIs(t, m.Wait(t.Context()), tiering.ErrClosed)
	m.EndStep()
	require.Empty(t, disk.TakeLoads())
}
