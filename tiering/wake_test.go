package tiering_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kvoffload/kvoffload/lookup"
	"github.com/kvoffload/kvoffload/policy"
	"github.com/kvoffload/kvoffload/tiering"
	"github.com/kvoffload/kvoffload/tiering/tieringtest"
)

func TestW1_AParkedRequestIsWokenWhenItsAnswerMayHaveChanged(t *testing.T) {
	disk := tieringtest.NewTier("disk")
	disk.Answer(lookup.Retry, key(1))
	disk.Answer(lookup.Hit, key(2))
	m := newRig(t, tier(disk))
	store := m.writing(key(0))
	onStore, onRetry, onPromotion := m.begin("store"), m.begin("retry"), m.begin("promotion")
	requireWait(t, onStore.Plan(ask(key(0))), lookup.ReasonPending)
	requireWait(t, onRetry.Plan(ask(key(1))), lookup.ReasonRetry)
	requireWait(t, onPromotion.Plan(ask(key(2))), lookup.ReasonPending)
	m.EndStep()
	require.Empty(t, m.Ready(nil))
	require.Equal(t, 3, m.Stats().Parked)

	require.NoError(t, store.Finish(nil))
	<-m.Changed()
	require.Equal(t, []*tiering.Request{onStore}, m.Ready(nil))
	require.Empty(t, m.Ready(nil), "once")

	disk.Answer(lookup.Miss, key(1))
	disk.Notify()
	require.Equal(t, []*tiering.Request{onRetry}, m.Ready(nil))
	requireRecompute(t, onRetry.Replan(), lookup.ReasonNotStored)

	require.NoError(t, disk.TakeLoads()[0].Finish(errDisk))
	require.Equal(t, []*tiering.Request{onPromotion}, m.Ready(nil))
	requireRecompute(t, onPromotion.Replan(), lookup.ReasonNotStored)
}

func TestW1_AParkedRequestIsWokenAtItsBound(t *testing.T) {
	m := newRig(t)
	m.writing(key(0))
	m.writing(key(1))
	_, ok := m.NextWake()
	require.False(t, ok)
	a := m.begin("a")
	requireWait(t, a.Plan(ask(key(0))), lookup.ReasonPending)
	m.clock.Add(time.Second)
	b := m.begin("b")
	requireWait(t, b.Plan(ask(key(1))), lookup.ReasonPending)
	d, ok := m.NextWake()
	require.True(t, ok)
	require.Equal(t, 4*time.Second, d)
	m.clock.Add(4 * time.Second)
	d, _ = m.NextWake()
	require.Zero(t, d)
	require.Equal(t, []*tiering.Request{a}, m.Ready(nil))
	requireRecompute(t, a.Replan(), lookup.ReasonKeyDeadline)
	d, _ = m.NextWake()
	require.Equal(t, time.Second, d)
}

// Every way in which a completion and the asking for the block can interleave ends
// with the request knowing, or being woken.
func TestW1_NoWakeUpIsLost(t *testing.T) {
	for _, failed := range []bool{false, true} {
		for when := range 4 {
			t.Run(fmt.Sprintf("failed=%v/%d", failed, when), func(t *testing.T) {
				var err error
				if failed {
					err = errDisk
				}
				var j *tiering.Job
				complete := func(at int) {
					if at == when {
						require.NoError(t, j.Finish(err))
					}
				}
				asked := 0
				m := newRig(t, with(policy.Func(func(s policy.Snapshot) policy.Decision {
					asked++
					if asked <= 2 {
						complete(asked) // 1: after the block was seen pending; 2: as the run is decided about
					}
					return policy.Decision{Verdict: policy.Wait}
				})))
				j = m.writing(key(0))
				r := m.begin("r")
				complete(0) // before
				p := r.Plan(ask(key(0)))
				complete(3) // after
				if p.Action == lookup.Wait {
					require.Equal(t, []*tiering.Request{r}, m.Ready(nil))
					p = r.Replan()
				}
				if failed {
					requireRecompute(t, p, lookup.ReasonNotStored)
				} else {
					requireLoad(t, p, 1)
				}
			})
		}
	}
}

// A tier that finds out while it is still saying that it does not know yet.
func TestW1_NoNoticeOfATierIsLost(t *testing.T) {
	eager := &eagerTier{Tier: tieringtest.NewTier("eager")}
	m := newRig(t, tier(eager))
	r := m.begin("r")
	requireWait(t, r.Plan(ask(key(0))), lookup.ReasonRetry)
	require.Equal(t, []*tiering.Request{r}, m.Ready(nil))
	requireWait(t, r.Replan(), lookup.ReasonPending)
}

// eagerTier says Retry, and that it knows by now, in one breath.
type eagerTier struct{ *tieringtest.Tier }

func (e *eagerTier) Lookup(key lookup.Key) lookup.Result {
	r := e.Tier.Lookup(key)
	if r == lookup.Miss {
		e.Answer(lookup.Hit, key)
		e.Notify()
		return lookup.Retry
	}
	return r
}

func TestW1_WaitSleepsOnTheInjectedClock(t *testing.T) {
	m := newRig(t)
	j := m.writing(key(0))
	r := m.begin("r")
	woken := make(chan error, 1)
	wait := func() { woken <- m.Wait(t.Context()) }

	requireWait(t, r.Plan(ask(key(0))), lookup.ReasonPending)
	go wait()
	require.NoError(t, j.Done(0, nil))
	require.NoError(t, <-woken)
	require.Equal(t, []*tiering.Request{r}, m.Ready(nil))

	m.writing(key(1))
	requireWait(t, r.Plan(ask(key(1))), lookup.ReasonPending)
	go wait()
	for done := false; !done; { // the clock may move before or after the timer is set
		m.clock.Add(time.Second)
		select {
		case err := <-woken:
			require.NoError(t, err)
			done = true
		default:
			runtime.Gosched()
		}
	}
	require.Equal(t, []*tiering.Request{r}, m.Ready(nil))
	requireRecompute(t, r.Replan(), lookup.ReasonKeyDeadline)

	ctx, cancel := context.WithCancel(t.Context())
	go func() { woken <- m.Wait(ctx) }()
	cancel()
	require.ErrorIs(t, <-woken, context.Canceled)
	go wait()
	require.NoError(t, m.Close())
	require.ErrorIs(t, <-woken, tiering.ErrClosed)
}

func TestW1_NothingOfARequestIsLeftInAJobThatNeverEnds(t *testing.T) {
	m := newRig(t)
	leaked := m.writing(key(0))
	for range 100 {
		r := m.Begin(tiering.RequestOptions{})
		requireWait(t, r.Plan(ask(key(0))), lookup.ReasonPending)
		requireWait(t, r.Plan(ask(key(0))), lookup.ReasonPending)
		r.End()
	}
	require.Zero(t, tiering.Waiters(leaked))
	require.Zero(t, m.Stats().Parked)
}

func TestW2_AskingAgainAsksOnlyWhatIsUnresolved(t *testing.T) {
	m := newRig(t, blocks(64))
	m.stored(append(span(0, 20), span(21, 40)...)...)
	j := m.writing(key(20))
	r := m.begin("r")
	p := r.Plan(ask(span(0, 40)...))
	requireWait(t, p, lookup.ReasonPending)
	require.Equal(t, 40, p.Asked)
	p = r.Replan()
	requireWait(t, p, lookup.ReasonPending)
	require.Zero(t, p.Asked, "nothing has changed at all")
	m.stored(key(50)) // something has, elsewhere
	p = r.Replan()
	requireWait(t, p, lookup.ReasonPending)
	require.Equal(t, 1, tiering.AskedOf(r, lookup.Pending))
	require.Equal(t, 1, tiering.LookedUp(r), "the hits are remembered")
	require.NoError(t, j.Finish(nil))
	requireLoad(t, r.Replan(), 40)
}

func TestW2_ABlockEvictedMeanwhileIsNoticed(t *testing.T) {
	m := newRig(t, blocks(8))
	m.stored(span(0, 7)...)
	m.writing(key(7))
	r := m.begin("r")
	requireWait(t, r.Plan(ask(span(0, 8)...)), lookup.ReasonPending)
	m.Touch(span(0, 3))
	m.stored(key(30), key(31)) // evicts keys 6 and 5
	requireLoad(t, r.Replan(), 5)
}

func TestW2_AReusedBlockIsNotMistaken(t *testing.T) {
	m := newRig(t, blocks(2))
	m.stored(key(0))
	m.writing(key(1))
	r := m.begin("r")
	requireWait(t, r.Plan(ask(span(0, 2)...)), lookup.ReasonPending)
	m.stored(key(40)) // in the very block of key 0
	p := r.Replan()
	requireRecompute(t, p, lookup.ReasonNotStored)
}
