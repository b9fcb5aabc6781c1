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

func TestA1_HitIsReadableNow(t *testing.T) {
	m := newRig(t)
	j := m.writing(key(0))
	r := m.begin("r")
	require.Equal(t, lookup.Pending, r.Lookup(key(0)))
	require.NoError(t, j.Finish(nil))
	require.Equal(t, lookup.Hit, r.Lookup(key(0)))
	requireLoad(t, r.Plan(ask(key(0))), 1)
}

func TestA2_PendingBecomesHitOrMiss(t *testing.T) {
	m := newRig(t)
	j := m.writing(key(0), key(1))
	r := m.begin("r")
	requireWait(t, r.Plan(ask(key(0), key(1))), lookup.ReasonPending)
	require.NoError(t, j.Done(0, nil))
	require.NoError(t, j.Done(1, errDisk))
	require.Equal(t, lookup.Hit, r.Lookup(key(0)))
	require.Equal(t, lookup.Miss, r.Lookup(key(1)))
	requireLoad(t, r.Replan(), 1)
}

func TestA3_RetryWhenNoTierSaysYesAndOneCannotSay(t *testing.T) {
	yes, unsure, no := tieringtest.NewTier("yes"), tieringtest.NewTier("unsure"), tieringtest.NewTier("no")
	unsure.AnswerOthers(lookup.Retry)
	m := newRig(t, tier(no), tier(unsure), tier(yes))
	requireWait(t, m.begin("a").Plan(ask(key(0))), lookup.ReasonRetry)
	yes.Answer(lookup.Hit, key(0))
	requireWait(t, m.begin("b").Plan(ask(key(0))), lookup.ReasonPending)
}

func TestA4_MissWhenThereIsNoRoomToBringItIn(t *testing.T) {
	disk := tieringtest.NewTier("disk")
	disk.AnswerOthers(lookup.Hit)
	m := newRig(t, tier(disk), blocks(2), promotionBlocks(tiering.NoLimit))
	m.writing(key(8), key(9)) // the whole primary is being written
	r := m.begin("r")
	requireRecompute(t, r.Plan(ask(key(0))), lookup.ReasonNotStored)
	require.EqualValues(t, 1, m.Stats().PromotionRefusals)
	require.Len(t, tieringtest.Of[tiering.RefusedEvent](m.rec), 1)
}

func TestA6_AskingLeavesEverythingAsEvictable(t *testing.T) {
	m := newRig(t, blocks(4))
	m.stored(span(0, 3)...)
	j := m.writing(key(3))
	r := m.begin("r")
	for range 1000 {
		requireWait(t, r.Plan(ask(span(0, 4)...)), lookup.ReasonPending)
		require.Equal(t, lookup.Hit, r.Lookup(key(0)))
	}
	require.Equal(t, 3, m.Stats().Evictable)
	require.Zero(t, m.Stats().Claimed)
	// Key 2 is still the first to go, however often it was asked for.
	m.stored(key(4))
	require.Equal(t, lookup.Miss, r.Lookup(key(2)))
	require.NoError(t, j.Finish(nil))
}

func TestA6_LookupDoesNoWorkOfATier(t *testing.T) {
	disk := tieringtest.NewTier("disk")
	disk.AnswerOthers(lookup.Hit)
	m := newRig(t, tier(disk))
	r := m.begin("r")
	requireWait(t, r.Plan(ask(span(0, 3)...)), lookup.ReasonPending)
	require.Empty(t, disk.TakeLoads(), "nothing is handed over before EndStep")
	m.EndStep()
	require.Len(t, disk.TakeLoads(), 1)
	require.Equal(t, 1, disk.Steps())
}

func TestS3_TheBudgetCutsARunThatIsCheaperToRecompute(t *testing.T) {
	for _, c := range []struct {
		name   string
		budget int
		waits  bool
	}{
		{"covers the run", 2 * perBlock, false},
		{"one block less", 1 * perBlock, true},
		{"always waits", 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newRig(t, with(policy.RecomputeBudget{MaxTokens: c.budget}))
			m.stored(key(0), key(2))
			j := m.writing(key(1))
			r := m.begin("r")
			p := r.Plan(ask(span(0, 3)...))
			if !c.waits {
				requireLoad(t, p, 1)
				require.Equal(t, lookup.ReasonBudget, p.Reason)
				require.Equal(t, 2*perBlock, p.Cut.Tokens)
				return
			}
			requireWait(t, p, lookup.ReasonPending)
			require.NoError(t, j.Finish(nil))
			requireLoad(t, r.Replan(), 3)
		})
	}
}

func TestD1_NothingButHitRestartsTheClock(t *testing.T) {
	disk := tieringtest.NewTier("disk")
	disk.AnswerOthers(lookup.Hit)
	m := newRig(t, tier(disk), with(policy.Deadline{PerKey: 5 * time.Second, PerRequest: policy.NoLimit}),
		func(o *tiering.Options) { o.FailedLoadMemory = time.Nanosecond })
	r := m.begin("r")
	for i := range 5 { // pending for a second, failed, a miss; then the next attempt
		p := r.Plan(ask(key(0)))
		requireWait(t, p, lookup.ReasonPending)
		require.Equal(t, time.Duration(5-i)*time.Second, p.Until)
		m.EndStep()
		m.clock.Add(time.Second - 1)
		for _, j := range disk.TakeLoads() {
			require.NoError(t, j.Finish(errDisk))
		}
		requireRecompute(t, r.Plan(ask(key(0))), lookup.ReasonNotStored)
		requireWait(t, r.Plan(ask(key(7+i))), lookup.ReasonPending) // another key
		m.clock.Add(1)
	}
	requireRecompute(t, r.Plan(ask(key(0))), lookup.ReasonKeyDeadline)

	// Hit does: the key was there, and has its whole time again.
	r = m.begin("s")
	requireWait(t, r.Plan(ask(key(1))), lookup.ReasonPending)
	m.EndStep()
	m.clock.Add(4 * time.Second)
	for _, j := range disk.TakeLoads() {
		require.NoError(t, j.Finish(nil))
	}
	requireLoad(t, r.Replan(), 1)
	m.Reset()
}

func TestD2_ExpiredKeyIsAMissUntilEndButAHitIsAnswered(t *testing.T) {
	m := newRig(t, with(policy.Deadline{PerKey: 5 * time.Second, PerRequest: time.Minute}))
	j := m.writing(key(0))
	r := m.begin("r")
	p := r.Plan(ask(key(0)))
	requireWait(t, p, lookup.ReasonPending)
	require.Equal(t, 5*time.Second, p.Until)
	m.clock.Add(5*time.Second - 1)
	p = r.Replan()
	requireWait(t, p, lookup.ReasonPending)
	require.Equal(t, time.Duration(1), p.Until)
	m.clock.Add(1)
	requireRecompute(t, r.Replan(), lookup.ReasonKeyDeadline)
	requireRecompute(t, r.Plan(ask(key(0))), lookup.ReasonKeyDeadline)
	require.Equal(t, uint64(1), m.Stats().GivenUp, "counted once")
	// The write goes on, and its late result is used by this request too.
	require.NoError(t, j.Finish(nil))
	requireLoad(t, r.Plan(ask(key(0))), 1)
}

func TestD2_NoFurtherPromotionAfterExpiry(t *testing.T) {
	disk := tieringtest.NewTier("disk")
	disk.AnswerOthers(lookup.Hit)
	m := newRig(t, tier(disk), with(policy.Deadline{PerKey: 5 * time.Second}))
	r := m.begin("r")
	requireWait(t, r.Plan(ask(key(0))), lookup.ReasonPending)
	m.EndStep()
	m.clock.Add(5 * time.Second)
	requireRecompute(t, r.Replan(), lookup.ReasonKeyDeadline)
	for _, j := range disk.TakeLoads() {
		require.NoError(t, j.Finish(errDisk))
	}
	m.clock.Add(time.Hour) // the tier is believed again
	requireRecompute(t, r.Plan(ask(key(0))), lookup.ReasonKeyDeadline)
	m.EndStep()
	require.Empty(t, disk.TakeLoads())
	require.Zero(t, m.Stats().Pending)
}

func TestD3_RetryHasABoundOfItsOwnAndTheRequestOneForAll(t *testing.T) {
	disk := tieringtest.NewTier("disk")
	disk.AnswerOthers(lookup.Retry)
	m := newRig(t, tier(disk), with(policy.Deadline{PerKey: 3 * time.Second, PerRetry: 2 * time.Second, PerRequest: 4 * time.Second}))
	r := m.begin("r")
	requireWait(t, r.Plan(ask(key(0))), lookup.ReasonRetry)
	m.clock.Add(2 * time.Second)
	requireRecompute(t, r.Replan(), lookup.ReasonRetryDeadline)

	r = m.begin("s")
	requireWait(t, r.Plan(ask(key(1))), lookup.ReasonRetry)
	m.clock.Add(time.Second)
	requireWait(t, r.Plan(ask(key(2))), lookup.ReasonRetry)
	m.clock.Add(1500 * time.Millisecond)
	requireWait(t, r.Plan(ask(key(3))), lookup.ReasonRetry) // a new key each time
	m.clock.Add(1500 * time.Millisecond)
	requireRecompute(t, r.Plan(ask(key(4))), lookup.ReasonRequestDeadline)
}

func TestD4_ExpiryCostsARecomputeAndTheWriteGoesOn(t *testing.T) {
	m := newRig(t)
	j := m.writing(key(0))
	r := m.begin("r")
	requireWait(t, r.Plan(ask(key(0))), lookup.ReasonPending)
	m.clock.Add(time.Minute)
	requireRecompute(t, r.Replan(), lookup.ReasonKeyDeadline)
	require.NoError(t, j.Finish(nil))
	requireLoad(t, m.begin("s").Plan(ask(key(0))), 1)
}

func TestD5_AStalledWriteIsNotPaidForTwice(t *testing.T) {
	m := newRig(t, stalled(20*time.Second), with(policy.Deadline{PerKey: 15 * time.Second, PerRequest: policy.NoLimit}))
	m.writing(key(0))
	m.clock.Add(19 * time.Second)
	early := m.begin("early")
	requireWait(t, early.Plan(ask(key(0))), lookup.ReasonPending)
	m.clock.Add(time.Second)
	requireWait(t, early.Replan(), lookup.ReasonPending)
	requireRecompute(t, m.begin("late").Plan(ask(key(0))), lookup.ReasonStalled)
}

func TestD6_DefaultsBoundEveryWait(t *testing.T) {
	disk := tieringtest.NewTier("disk")
	disk.Answer(lookup.Retry, key(1))
	m := newRig(t, tier(disk))
	m.writing(key(0))
	for _, k := range []lookup.Key{key(0), key(1)} {
		p := m.begin("r").Plan(ask(k))
		require.Equal(t, lookup.Wait, p.Action)
		require.Positive(t, p.Until)
		require.LessOrEqual(t, p.Until, 10*time.Second)
	}
}

func TestD7_AnExpiryNamesKeyTierAgeAndJob(t *testing.T) {
	m := newRig(t)
	j := m.writing(key(0))
	m.clock.Add(time.Second)
	r := m.begin("r")
	requireWait(t, r.Plan(ask(key(0))), lookup.ReasonPending)
	m.clock.Add(5 * time.Second)
	requireRecompute(t, r.Replan(), lookup.ReasonKeyDeadline)
	require.Equal(t, []tiering.GaveUpEvent{{
		Request: "r", Key: key(0), Reason: lookup.ReasonKeyDeadline, Was: lookup.Pending,
		Waited: 5 * time.Second, Job: j.ID(), Age: 6 * time.Second, Tier: tiering.PrimaryName,
	}}, tieringtest.Of[tiering.GaveUpEvent](m.rec))
	require.Equal(t, []tiering.WaitEvent{{
		Request: "r", For: lookup.ReasonPending, Waited: 5 * time.Second,
		Action: lookup.Recompute, Reason: lookup.ReasonKeyDeadline,
	}}, tieringtest.Of[tiering.WaitEvent](m.rec))
}

func TestD_AClockThatJumpsBackExtendsNoBound(t *testing.T) {
	m := newRig(t, with(policy.Deadline{PerKey: 5 * time.Second}))
	m.writing(key(0))
	r := m.begin("r")
	requireWait(t, r.Plan(ask(key(0))), lookup.ReasonPending)
	m.clock.Add(3 * time.Second)
	requireWait(t, r.Replan(), lookup.ReasonPending)
	m.clock.Set(m.clock.Now().Add(-time.Hour))
	requireWait(t, r.Replan(), lookup.ReasonPending)
	m.clock.Add(2*time.Second - 1)
	requireWait(t, r.Replan(), lookup.ReasonPending)
	m.clock.Add(1)
	requireRecompute(t, r.Replan(), lookup.ReasonKeyDeadline)
}
