package sim

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kvoffload/kvoffload/policy"
)

func TestGenerateIsDeterministicAndSound(t *testing.T) {
	a, b := Generate(7, 500), Generate(7, 500)
	require.Equal(t, a, b)
	require.NotEqual(t, a, Generate(8, 500))
	require.Len(t, a, 500)
	require.True(t, slices.IsSortedFunc(a, func(x, y Request) int { return int(x.Arrival - y.Arrival) }))
	for _, r := range a {
		require.Len(t, r.Blocks, blocksFor(r.Input))
		require.Positive(t, r.Output)
	}
	asked, fresh := Demand(a)
	require.Less(t, fresh, asked/2, "conversations repeat their prefixes")
	fastAsked, _ := Demand(Scale(a, 2))
	require.InEpsilon(t, 2*asked, fastAsked, 1e-6)
}

// small is a machine on which everything is scarce.
func small(rng *rand.Rand) Params {
	p := base()
	p.DeviceBlocks = 300 + rng.IntN(300)
	p.PrimaryBlocks = 20 + rng.IntN(300)
	p.StoreBandwidth = 200_000_000 + rng.Int64N(gigabyte)
	p.MaxRunning = 1 + rng.IntN(16)
	if rng.IntN(3) > 0 {
		disk := *Presets["tiered"]().Disk
		disk.ReadBandwidth = 50_000_000 + rng.Int64N(gigabyte)
		disk.QueueBlocks = 1 + rng.IntN(100)
		p.Disk = &disk
	}
	policies := []policy.Policy{
		policy.Always{}, policy.Never{}, policy.Deadline{},
		policy.Any(policy.Deadline{PerKey: time.Second, PerRequest: 2 * time.Second}, policy.RecomputeBudget{MaxTokens: 1024}),
	}
	p.Policy = policies[rng.IntN(len(policies))]
	return p
}

// Run checks that work is conserved; here it has to on many machines and workloads.
func TestWorkIsConserved(t *testing.T) {
	for seed := range uint64(25) {
		rng := rand.New(rand.NewPCG(seed, 5))
		workload := Scale(Generate(seed, 120), 0.2+rng.Float64()*3)
		r, err := Run(context.Background(), small(rng), workload, nil)
		require.NoError(t, err, "seed %d", seed)
		require.Len(t, r.TTFT, 120)
	}
}

func TestCheckNoticesWhatIsWrong(t *testing.T) {
	good, err := Run(context.Background(), Presets["tiered"](), Generate(1, 50), nil)
	require.NoError(t, err)
	for name, spoil := range map[string]func(*Result){
		"lost tokens":     func(r *Result) { r.LoadedTokens-- },
		"computed twice":  func(r *Result) { r.ComputedTokens++; r.LoadedTokens-- },
		"too fast a link": func(r *Result) { r.LinkBusy[0] = r.Elapsed + 1 },
		"claim left":      func(r *Result) { r.Stats.Claimed = 1 },
		"late completion": func(r *Result) { r.Stats.Late = 1 },
	} {
		bad := good
		bad.LinkBusy = slices.Clone(good.LinkBusy)
		spoil(&bad)
		require.ErrorContains(t, bad.Check(), "not conserved", name)
	}
}

// No wait is longer than the deadline plus the step in which it passes.
func TestD_NoWaitAboveTheDeadlinePlusOneStep(t *testing.T) {
	p := Presets["tiered"]()
	p.Disk.ReadBandwidth = 20_000_000 // hopelessly slow
	p.PrimaryBlocks, p.DeviceBlocks = 64, 400
	p.Policy = policy.Deadline{}
	workload := Scale(Generate(3, 400), 2)
	r, err := Run(context.Background(), p, workload, nil)
	require.NoError(t, err)
	step := time.Duration(float64(p.StepTokens) / float64(p.PrefillTokens) * float64(time.Second))
	require.Positive(t, r.Waited)
	require.Greater(t, r.MaxWait, policy.DefaultPerKey-time.Second, "there are such waits")
	require.LessOrEqual(t, r.MaxWait, policy.DefaultPerRequest+step)
	p.Policy, p.StalledAfter = policy.Always{}, policy.NoLimit
	r, err = Run(context.Background(), p, workload, nil)
	require.NoError(t, err)
	require.Greater(t, r.MaxWait, policy.DefaultPerRequest+step, "without a deadline there are longer ones")
}

func TestCase81_WhoWaitsDoesNotHoldUpOthers(t *testing.T) {
	p := Presets["tiered"]()
	p.Disk.ReadBandwidth = 1_000_000
	p.Policy, p.StalledAfter = policy.Always{}, policy.NoLimit
	p.PrimaryBlocks = 4
	p.DeviceBlocks = 8
	long := Request{Input: 3 * TokensPerBlock, Output: 1, Blocks: []uint64{1, 2, 3}}
	again, other := long, Request{Input: 100, Output: 1, Blocks: []uint64{9}}
	fill := Request{Arrival: 10 * time.Second, Input: 8 * TokensPerBlock, Blocks: []uint64{21, 22, 23, 24, 25, 26, 27, 28}}
	again.Arrival, other.Arrival = 60*time.Second, 61*time.Second
	r, err := Run(context.Background(), p, []Request{long, fill, again, other}, nil)
	require.NoError(t, err)
	require.Len(t, r.TTFT, 4)
	require.Greater(t, r.MaxWait, 30*time.Second, "one waits for the disk")
	require.Less(t, slices.Min(r.TTFT), 20*time.Millisecond, "another comes and goes")
}

func TestParamsAreChecked(t *testing.T) {
	_, err := Run(context.Background(), Params{Disk: &DiskParams{Latency: -1}}, nil, nil)
	require.ErrorContains(t, err, "PrefillTokens is 0, want more than 0")
	require.ErrorContains(t, err, "Disk.ReadBandwidth is 0, want more than 0")
	require.ErrorContains(t, err, "Disk has a negative latency")
	p := base()
	p.PrimaryBlocks, p.DeviceBlocks = 10, 1
	_, err = Run(context.Background(), p, []Request{{Input: 1000, Output: 1, Blocks: []uint64{1, 2}}}, nil)
	require.ErrorContains(t, err, "request 0 needs 2 device blocks, there are 1")
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := Run(ctx, Presets["host"](), Generate(1, 10), nil)
	require.ErrorIs(t, err, context.Canceled)
}

func TestPercentiles(t *testing.T) {
	var r Result
	require.Equal(t, []time.Duration{0}, r.Percentiles(50))
	require.Zero(t, r.Mean())
	for i := range 100 {
		r.TTFT = append(r.TTFT, time.Duration(100-i))
	}
	require.Equal(t, []time.Duration{1, 50, 90, 99, 100}, r.Percentiles(0, 50, 90, 99, 100))
}
