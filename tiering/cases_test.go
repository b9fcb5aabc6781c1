package tiering_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kvoffload/kvoffload/lookup"
	"github.com/kvoffload/kvoffload/policy"
	"github.com/kvoffload/kvoffload/tiering"
	"github.com/kvoffload/kvoffload/tiering/tieringtest"
)

// Faults that users of other systems have reported, by their numbers in the project's
// list.

func TestCase01_AWriteThatNeverEndsIsWaitedForWithABound(t *testing.T) {
	m := newRig(t)
	m.writing(key(0))
	r := m.begin("r")
	polls := 0
	for r.Plan(ask(key(0))).Action == lookup.Wait {
		m.clock.Add(100 * time.Millisecond)
		polls++
	}
	require.Equal(t, 50, polls, "5 s")
	require.EqualValues(t, 1, m.Stats().GivenUp)
}

func TestCase04_ALeakedWriteIsNamed(t *testing.T) {
	m := newRig(t)
	j := m.writing(key(3))
	m.clock.Add(time.Hour)
	list := m.AppendBlocks(nil)
	require.Len(t, list, 1)
	require.Equal(t, tiering.BlockInfo{
		Key: key(3), Block: j.Block(0).Block, Generation: j.Block(0).Generation,
		Result: lookup.Pending, Job: j.ID(), Age: time.Hour,
	}, list[0])
}

func TestCase07_ALateTrueAnswerIsUsed(t *testing.T) {
	disk := tieringtest.NewTier("disk")
	disk.AnswerOthers(lookup.Retry)
	m := newRig(t, tier(disk))
	r := m.begin("r")
	requireWait(t, r.Plan(ask(key(0))), lookup.ReasonRetry)
	m.clock.Add(5 * time.Second)
	requireRecompute(t, r.Replan(), lookup.ReasonRetryDeadline)
	disk.AnswerOthers(lookup.Hit)
	requireWait(t, m.begin("s").Plan(ask(key(0))), lookup.ReasonPending)
}

func TestCase16_ADoomedPromotionIsNotRepeatedByAnyone(t *testing.T) {
	disk := tieringtest.NewTier("disk")
	disk.AnswerOthers(lookup.Hit)
	m := newRig(t, tier(disk))
	promotions := 0
	for i := range 20 { // steps, each with another request for the same key
		r := m.begin(fmt.Sprint(i))
		r.Plan(ask(key(0)))
		m.EndStep()
		for _, j := range disk.TakeLoads() {
			promotions++
			require.NoError(t, j.Finish(errDisk))
		}
		require.Equal(t, lookup.Recompute, r.Plan(ask(key(0))).Action)
	}
	require.Equal(t, 1, promotions)
}

func TestCase19_AFailedBlockIsNeverReadableAndNeverCascaded(t *testing.T) {
	disk := tieringtest.NewTier("disk")
	var m *rig
	seen := lookup.Miss
	m = newRig(t, tier(disk), hooks(func(e *tiering.Events) {
		e.JobEnded = func(tiering.JobEvent) { seen = m.begin("watcher").Lookup(key(0)) }
	}))
	j := m.writing(key(0))
	require.NoError(t, j.Finish(errDisk))
	require.Equal(t, lookup.Miss, seen)
	m.EndStep()
	require.Empty(t, disk.TakeStores())
}

func TestCase24_AStoreInTheSameStepDoesNotEvictWhatIsToBeLoaded(t *testing.T) {
	m := newRig(t, blocks(8))
	m.stored(span(0, 8)...)
	r, other := m.begin("r"), m.begin("other")
	p := r.Plan(ask(span(0, 6)...))
	requireLoad(t, p, 6)
	j, err := other.Store(span(20, 22), nil)
	require.NoError(t, err)
	require.Equal(t, 2, j.Len())
	_, ids := p.Claim.Group(0)
	for i := range 2 {
		require.NotContains(t, ids, j.Block(i).Block)
	}
	_, err = other.Store(span(22, 23), nil)
	require.ErrorIs(t, err, tiering.ErrFull)
}

func TestCase34_WhatIsClaimedAndNotLoadedIsGivenBack(t *testing.T) {
	m := newRig(t)
	m.stored(span(0, 3)...)
	r := m.begin("r")
	q := ask(span(0, 3)...)
	q.Computed = q.Tokens // all of it is on the device already
	requireRecompute(t, r.Plan(q), lookup.ReasonNotStored)
	require.Zero(t, m.Stats().Claimed)
}

func TestCase41_PromotionRoomIsGivenBackOnEveryPath(t *testing.T) {
	disk := tieringtest.NewTier("disk")
	disk.AnswerOthers(lookup.Hit)
	m := newRig(t, tier(disk), promotionBlocks(4))
	for i := range 60 {
		r := m.Begin(tiering.RequestOptions{})
		requireWait(t, r.Plan(ask(span(4*i, 4*i+4)...)), lookup.ReasonPending)
		if i%5 == 0 {
			r.End() // before it is handed over
		}
		m.EndStep()
		jobs := disk.TakeLoads()
		if i%5 == 1 {
			r.End() // while it is in flight
		}
		switch i % 5 {
		case 2:
			require.NoError(t, jobs[0].Done(0, nil))
			require.NoError(t, jobs[0].Finish(errDisk))
		default:
			require.NoError(t, jobs[0].Finish(nil))
		}
		if i%5 == 3 {
			p := r.Replan()
			requireLoad(t, p, 4)
			require.NoError(t, p.Claim.Release())
		}
		r.End() // 4: landed, never read
		require.Zero(t, m.Stats().Promoting, "path %d", i%5)
	}
}

func TestCase43_ACompletionOfAnEarlierWriteOfTheKeyChangesNothing(t *testing.T) {
	m := newRig(t, blocks(1))
	first := m.writing(key(0))
	require.NoError(t, first.Finish(errDisk))
	second := m.writing(key(0)) // in the same block
	require.Equal(t, first.Block(0).Block, second.Block(0).Block)
	require.ErrorIs(t, first.Finish(nil), tiering.ErrJob)
	require.ErrorIs(t, first.Done(0, nil), tiering.ErrJob)
	require.Equal(t, lookup.Pending, m.begin("r").Lookup(key(0)))
	require.NoError(t, second.Finish(nil))
}

func TestCase48_AbortBeforeAnythingWasScheduled(t *testing.T) {
	m := newRig(t)
	for range 100 {
		m.Begin(tiering.RequestOptions{}).End()
	}
	m.EndStep()
	m.atRest()
}

func TestCase49_APreemptedRequestMeetsItsOwnStore(t *testing.T) {
	m := newRig(t)
	r := m.begin("r")
	j, err := r.Store(span(0, 2), nil)
	require.NoError(t, err)
	requireWait(t, r.Plan(ask(span(0, 2)...)), lookup.ReasonPending)
	require.NoError(t, j.Finish(nil))
	requireLoad(t, r.Replan(), 2)
}

func TestCase58_AKeySomebodyElseIsWritingIsCascadedWhenItLands(t *testing.T) {
	disk := tieringtest.NewTier("disk")
	m := newRig(t, tier(disk))
	a := m.writing(key(0))
	b := m.begin("b")
	nothing, err := b.Store(span(0, 1), nil)
	require.NoError(t, err)
	require.Zero(t, nothing.Len())
	b.End()
	m.EndStep()
	require.Empty(t, disk.TakeStores())
	require.NoError(t, a.Finish(nil))
	m.EndStep()
	require.Len(t, disk.TakeStores(), 1)
}

func TestCase63_OneStoredKeyDoesNotRejectTheBatch(t *testing.T) {
	m := newRig(t)
	m.stored(key(1))
	j, err := m.begin("r").Store([]lookup.Key{key(1), key(2), key(2)}, nil)
	require.NoError(t, err)
	require.Equal(t, 1, j.Len())
	require.Equal(t, key(2), j.Block(0).Key)
}

func TestCase65_AFullPrimaryIsAMissAndNoSpin(t *testing.T) {
	disk := tieringtest.NewTier("disk")
	disk.AnswerOthers(lookup.Hit)
	m := newRig(t, tier(disk), blocks(2))
	m.stored(span(0, 2)...)
	requireWait(t, m.begin("full is fine").Plan(ask(key(5))), lookup.ReasonPending)
	claim, err := m.begin("holder").Claim(span(1, 2), nil)
	if err != nil { // key 1 was the one that went
		claim, err = m.begin("holder").Claim(span(0, 1), nil)
	}
	require.NoError(t, err)
	requireRecompute(t, m.begin("full of claimed is not").Plan(ask(key(6))), lookup.ReasonNotStored)
	require.NoError(t, claim.Release())
}

func TestCase82_WhoWaitsCostsNothingAStep(t *testing.T) {
	m := newRig(t, with(policy.Deadline{PerKey: time.Hour, PerRequest: time.Hour}))
	m.writing(key(0))
	for i := range 50 {
		requireWait(t, m.begin(fmt.Sprint(i)).Plan(ask(key(0))), lookup.ReasonPending)
	}
	before := m.Stats().Lookups
	for range 1000 {
		require.Empty(t, m.Ready(nil))
		m.EndStep()
	}
	require.Equal(t, before, m.Stats().Lookups)
}
