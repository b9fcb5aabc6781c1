package tiering_test

import (
	"errors"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"

	"github.com/kvoffload/kvoffload/lookup"
	"github.com/kvoffload/kvoffload/policy"
	"github.com/kvoffload/kvoffload/tiering"
	"github.com/kvoffload/kvoffload/tiering/tieringtest"
)

const perBlock = 16

var errDisk = errors.New("disk on fire")

// rig is a Manager on a mock clock with a recorder and scripted tiers.
type rig struct {
	*tiering.Manager
	t     *testing.T
	clock *clock.Mock
	rec   *tieringtest.Recorder
	tiers []*tieringtest.Tier
}

type option func(*tiering.Options)

func blocks(n int) option                  { return func(o *tiering.Options) { o.Primary.Blocks = n } }
func with(p policy.Policy) option          { return func(o *tiering.Options) { o.Policy = p } }
func layout(l lookup.Layout) option        { return func(o *tiering.Options) { o.Layout = l } }
func promotionBlocks(n int) option         { return func(o *tiering.Options) { o.Primary.PromotionBlocks = n } }
func stalled(d time.Duration) option       { return func(o *tiering.Options) { o.StalledAfter = d } }
func hooks(f func(*tiering.Events)) option { return func(o *tiering.Options) { f(&o.Events) } }

// tier adds a scripted tier.
func tier(s tiering.Secondary) option {
	return func(o *tiering.Options) { o.Secondaries = append(o.Secondaries, s) }
}

func newRig(t *testing.T, options ...option) *rig {
	t.Helper()
	r := &rig{t: t, clock: clock.NewMock(), rec: &tieringtest.Recorder{}}
	o := tiering.Options{
		Layout:  lookup.Layout{Groups: []lookup.Group{{TokensPerBlock: perBlock}}},
		Primary: tiering.PrimaryOptions{Blocks: 16},
		Clock:   r.clock,
		Events:  r.rec.Events(false),
	}
	for _, f := range options {
		f(&o)
	}
	for _, s := range o.Secondaries {
		if s, ok := s.(*tieringtest.Tier); ok {
			r.tiers = append(r.tiers, s)
		}
	}
	m, err := tiering.New(o)
	require.NoError(t, err)
	r.Manager = m
	return r
}

func (r *rig) begin(id string) *tiering.Request {
	req := r.Begin(tiering.RequestOptions{ID: id})
	r.t.Cleanup(req.End)
	return req
}

// stored puts keys into the primary through a request of their own.
func (r *rig) stored(keys ...lookup.Key) {
	r.t.Helper()
	req := r.Begin(tiering.RequestOptions{ID: "storer"})
	j, err := req.Store(keys, nil)
	require.NoError(r.t, err)
	require.NoError(r.t, j.Finish(nil))
	req.End()
}

// writing starts to store keys, and returns the job to end that with.
func (r *rig) writing(keys ...lookup.Key) *tiering.Job {
	r.t.Helper()
	req := r.Begin(tiering.RequestOptions{ID: "writer"})
	j, err := req.Store(keys, nil)
	require.NoError(r.t, err)
	require.Equal(r.t, len(keys), j.Len())
	req.End()
	return j
}

// atRest checks that nothing is claimed, in flight or waiting.
func (r *rig) atRest() {
	r.t.Helper()
	s := r.Stats()
	require.Equal(r.t, s.Resident, s.Evictable, "everything readable is evictable")
	require.Zero(r.t, s.Pending+s.Draining+s.Promoting+s.Requests+s.Parked+s.Jobs, "%+v", s)
}

// key makes the key of block i of some prompt.
func key(i int) lookup.Key { return lookup.KeyFrom64(uint64(i)+1000, 0) }

// span is the keys of blocks lo to hi-1.
func span(lo, hi int) []lookup.Key {
	keys := make([]lookup.Key, 0, hi-lo)
	for i := lo; i < hi; i++ {
		keys = append(keys, key(i))
	}
	return keys
}

// ask is the query for these blocks, with a last token that is always computed.
func ask(keys ...lookup.Key) lookup.Query {
	return lookup.Query{Keys: [][]lookup.Key{keys}, Tokens: len(keys)*perBlock + 1}
}

func requireWait(t *testing.T, p tiering.Plan, reason lookup.Reason) {
	t.Helper()
	require.NoError(t, p.Err)
	require.Equal(t, lookup.Wait.String(), p.Action.String(), "%+v", p)
	require.Equal(t, reason.String(), p.Reason.String())
}

func requireLoad(t *testing.T, p tiering.Plan, blocks int) {
	t.Helper()
	require.NoError(t, p.Err)
	require.Equal(t, lookup.Load.String(), p.Action.String(), "%+v", p)
	require.Equal(t, blocks*perBlock, p.Tokens)
	_, ids := p.Claim.Group(0)
	require.Len(t, ids, blocks)
}

func requireRecompute(t *testing.T, p tiering.Plan, reason lookup.Reason) {
	t.Helper()
	require.NoError(t, p.Err)
	require.Equal(t, lookup.Recompute.String(), p.Action.String(), "%+v", p)
	require.Equal(t, reason.String(), p.Reason.String())
	require.Zero(t, p.Tokens)
}
