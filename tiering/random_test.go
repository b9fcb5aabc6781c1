package tiering_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kvoffload/kvoffload/lookup"
	"github.com/kvoffload/kvoffload/policy"
	"github.com/kvoffload/kvoffload/tiering"
	"github.com/kvoffload/kvoffload/tiering/tieringtest"
)

// world is a Manager under random operations, with what must be true of it kept apart:
// what each block holds, as those who write would have written it.
type world struct {
	*rig
	rng   *rand.Rand
	disk  *tieringtest.Tier
	live  []*actor
	jobs  []*tiering.Job
	bytes map[tiering.BlockID]lookup.Key // "contents" of the primary
	ended []*tiering.Job
}

// actor is a request and what it holds.
type actor struct {
	*tiering.Request
	keys   []lookup.Key
	claim  *tiering.Claim
	loaded map[tiering.BlockID]lookup.Key
	since  time.Duration // of its first wait
	waits  bool
}

const (
	perKeyBound     = 5 * time.Second
	perRequestBound = 8 * time.Second
)

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{
		rng:   rand.New(rand.NewPCG(seed, 7)),
		disk:  tieringtest.NewTier("disk"),
		bytes: make(map[tiering.BlockID]lookup.Key),
	}
	policies := []policy.Policy{
		policy.Deadline{PerKey: perKeyBound, PerRequest: perRequestBound},
		policy.Any(policy.Deadline{PerKey: perKeyBound, PerRequest: perRequestBound}, policy.RecomputeBudget{MaxTokens: 3 * perBlock}),
		policy.Never{},
	}
	w.rig = newRig(t, tier(w.disk), blocks(4+w.rng.IntN(20)), with(policies[w.rng.IntN(len(policies))]),
		func(o *tiering.Options) { o.FailedLoadMemory = time.Second })
	return w
}

// prompt is a prefix of one of a few prompts that share their beginnings.
func (w *world) prompt() []lookup.Key {
	n := 1 + w.rng.IntN(8)
	keys := make([]lookup.Key, n)
	branch := w.rng.IntN(4)
	for i := range keys {
		keys[i] = key(i)
		if i >= 2 {
			keys[i] = key(100*branch + i)
		}
	}
	return keys
}

func (w *world) step() {
	switch w.rng.IntN(12) {
	case 0:
		w.live = append(w.live, &actor{Request: w.Begin(tiering.RequestOptions{ID: "r"}), keys: w.prompt()})
	case 1, 2, 3:
		w.each(w.plan)
	case 4:
		w.each(w.store)
	case 5, 6:
		w.complete()
	case 7:
		w.each(w.release)
	case 8:
		w.each(func(a *actor) { a.End(); w.forget(a) })
	case 9:
		w.EndStep()
		w.jobs = append(w.jobs, w.disk.TakeLoads()...)
		w.jobs = append(w.jobs, w.disk.TakeStores()...)
	case 10:
		w.clock.Add(time.Duration(w.rng.IntN(3000)) * time.Millisecond)
	case 11:
		w.faults()
	}
}

func (w *world) each(f func(*actor)) {
	if len(w.live) > 0 {
		f(w.live[w.rng.IntN(len(w.live))])
	}
}

func (w *world) forget(a *actor) {
	for i, other := range w.live {
		if other == a {
			w.live = append(w.live[:i], w.live[i+1:]...)
			return
		}
	}
}

func (w *world) now() time.Duration { return w.clock.Since(time.Unix(0, 0)) }

func (w *world) plan(a *actor) {
	var p tiering.Plan
	if a.waits && w.rng.IntN(2) == 0 {
		p = a.Replan()
	} else {
		p = a.Plan(ask(a.keys...))
	}
	if errors.Is(p.Err, tiering.ErrReset) {
		a.End()
		w.forget(a)
		return
	}
	require.NoError(w.t, p.Err)
	switch p.Action {
	case lookup.Wait:
		if !a.waits {
			a.waits, a.since = true, w.now()
		}
		require.Less(w.t, w.now()-a.since, perRequestBound, "D3: every wait ends by its bound")
		require.Positive(w.t, p.Until)
		require.LessOrEqual(w.t, p.Until, perKeyBound)
	case lookup.Load:
		first, ids := p.Claim.Group(0)
		require.Zero(w.t, first)
		require.Equal(w.t, p.Tokens, len(ids)*perBlock)
		loaded := make(map[tiering.BlockID]lookup.Key)
		for i, id := range ids {
			require.Equal(w.t, a.keys[i], w.bytes[id], "what is loaded is what was written for the key")
			loaded[id] = a.keys[i]
		}
		for id, k := range a.loaded { // what an earlier plan handed out is held on
			loaded[id] = k
		}
		a.claim, a.loaded = &p.Claim, loaded
	}
}

// store copies a random part of the prompt to the host.
func (w *world) store(a *actor) {
	n := 1 + w.rng.IntN(len(a.keys))
	ends := make([]int, n)
	for i := range ends {
		ends[i] = (i + 1) * perBlock
	}
	j, err := a.Store(a.keys[:n], ends)
	switch {
	case errors.Is(err, tiering.ErrReset):
		a.End()
		w.forget(a)
	case err != nil:
		require.ErrorIs(w.t, err, tiering.ErrFull)
	case j.Len() > 0:
		w.jobs = append(w.jobs, j)
	}
}

// complete ends one block of a job, or the whole job, well or badly; or reports on
// one that has ended.
func (w *world) complete() {
	if len(w.ended) > 0 && w.rng.IntN(8) == 0 {
		j := w.ended[w.rng.IntN(len(w.ended))]
		require.ErrorIs(w.t, j.Finish(nil), tiering.ErrJob)
		require.ErrorIs(w.t, j.Done(w.rng.IntN(j.Len()), nil), tiering.ErrJob)
		return
	}
	if len(w.jobs) == 0 {
		return
	}
	at := w.rng.IntN(len(w.jobs))
	j := w.jobs[at]
	var err error
	if w.rng.IntN(4) == 0 {
		err = errDisk
	}
	if w.rng.IntN(3) == 0 {
		i := w.rng.IntN(j.Len())
		w.write(j, i)
		_ = j.Done(i, err) // may have been reported before
		return
	}
	for i := range j.Len() {
		w.write(j, i)
	}
	_ = j.Finish(err) // the last block may have been reported by Done
	w.jobs = append(w.jobs[:at], w.jobs[at+1:]...)
	w.ended = append(w.ended, j)
}

// write puts a block's bytes where the job says, or reads them. A write that was
// reported before must not be repeated: the block may be somebody else's by now.
func (w *world) write(j *tiering.Job, i int) {
	if !tiering.Open(j, i) {
		return
	}
	b := j.Block(i)
	if j.Kind() == tiering.CascadeJob {
		require.Equal(w.t, b.Key, w.bytes[b.Block], "P8: readable as long as it is being copied")
		return
	}
	for _, a := range w.live {
		require.NotContains(w.t, a.loaded, b.Block, "C1: nothing is written over what is claimed")
	}
	w.bytes[b.Block] = b.Key
}

func (w *world) release(a *actor) {
	if a.claim == nil {
		return
	}
	for id, k := range a.loaded {
		require.Equal(w.t, k, w.bytes[id], "C1: until the release")
	}
	require.NoError(w.t, a.claim.Release())
	require.ErrorIs(w.t, a.claim.Release(), tiering.ErrReleased)
	a.claim, a.loaded = nil, nil
}

func (w *world) faults() {
	switch w.rng.IntN(8) {
	case 0:
		w.disk.Refuse(errDisk)
	case 1:
		w.disk.Refuse(tiering.ErrDeclined)
	case 2:
		w.disk.Refuse(nil)
	case 3:
		w.disk.PanicIn([]string{"Lookup", "Load", "Store", "EndStep"}[w.rng.IntN(4)], "random")
	case 4:
		for _, method := range []string{"Lookup", "Load", "Store", "EndStep"} {
			w.disk.PanicIn(method, nil)
		}
	case 5:
		w.disk.AnswerOthers([]lookup.Result{lookup.Miss, lookup.Hit, lookup.Retry, 99}[w.rng.IntN(4)])
		w.disk.Notify()
	case 6:
		w.clock.Set(w.clock.Now().Add(-time.Duration(w.rng.IntN(2000)) * time.Millisecond))
		for _, a := range w.live {
			a.since = min(a.since, w.now()) // the bound is checked against the clock that jumped
		}
	case 7:
		if w.rng.IntN(10) == 0 {
			w.Reset()
		}
	}
}

// finish lets everything end, and checks that nothing is left of it.
func (w *world) finish() {
	w.disk.Refuse(nil)
	for _, method := range []string{"Lookup", "Load", "Store", "EndStep"} {
		w.disk.PanicIn(method, nil)
	}
	for _, a := range w.live {
		a.End()
	}
	w.live = nil
	w.EndStep()
	w.jobs = append(w.jobs, w.disk.TakeLoads()...)
	w.jobs = append(w.jobs, w.disk.TakeStores()...)
	for _, j := range w.jobs {
		_ = j.Finish(nil) // may have ended block by block
	}
	w.EndStep()
	for _, j := range w.disk.TakeStores() {
		require.NoError(w.t, j.Finish(nil))
	}
	w.atRest()
}

func TestRandomOperationsKeepEveryPromise(t *testing.T) {
	seeds, steps := uint64(200), 400
	if testing.Short() {
		seeds = 20
	}
	for seed := range seeds {
		ok := t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newWorld(t, seed)
			for range steps {
				w.step()
			}
			w.finish()
		})
		if !ok {
			break // one seed is enough to look at
		}
	}
}

// The same kinds of things at the same time: the race detector and the invariants
// watch.
func TestManagerIsSafeForConcurrentUse(t *testing.T) {
	disk := tieringtest.NewTier("disk")
	disk.AnswerOthers(lookup.Hit)
	m := newRig(t, tier(disk), blocks(64))
	var group sync.WaitGroup
	for g := range 4 {
		group.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(g), 3))
			for range 300 {
				r := m.Begin(tiering.RequestOptions{ID: fmt.Sprint(g)})
				from := 10 * rng.IntN(6)
				keys := span(from, from+10)
				if p := r.Plan(ask(keys...)); p.Action == lookup.Load && rng.IntN(2) == 0 {
					_ = p.Claim.Release()
				}
				r.Replan()
				if j, err := r.Store(keys, nil); err == nil && rng.IntN(2) == 0 {
					group.Go(func() { _ = j.Finish(nil) })
				} else if err == nil {
					_ = j.Finish(errDisk)
				}
				group.Go(r.End)
				m.Ready(nil)
				m.EndStep()
				for _, j := range append(disk.TakeLoads(), disk.TakeStores()...) {
					_ = j.Finish(nil)
				}
			}
		})
	}
	group.Wait()
	m.EndStep()
	for _, j := range append(disk.TakeLoads(), disk.TakeStores()...) {
		_ = j.Finish(nil)
	}
	m.atRest()
}
