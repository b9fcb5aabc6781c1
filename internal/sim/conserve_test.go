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

// small is a machine on which everything is scarce.
func small(rng *rand.Rand) Params {
	p := base()
	p.DeviceBlocks = 300 + rng.IntN(300)
	p.PrimaryBlocks = 20 + rng.IntN(300)
	p.StoreBandwidth = 200_000_000 + rng.Int64N(gigabyte)
	p.MaxRunning = 1 + rng.IntN(16)
	p.StagingBlocks = rng.IntN(2) * (1 + rng.IntN(50))
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
		"lost tokens":        func(r *Result) { r.LoadedTokens-- },
		"no answer":          func(r *Result) { r.TTFT = r.TTFT[1:] },
		"bytes from nowhere": func(r *Result) { r.Channels[1].Wanted++ },
		"too fast a link":    func(r *Result) { r.Channels[1].Bandwidth /= 1000 },
		"too busy a disk":    func(r *Result) { r.DiskBusy = r.Elapsed + 1 },
		"too busy a device":  func(r *Result) { r.DeviceBusy = r.Served + 1 },
		"device block held":  func(r *Result) { r.DeviceHeld = 1 },
		"claim left":         func(r *Result) { r.Stats.Claimed = 1 },
		"late completion":    func(r *Result) { r.Stats.Late = 1 },
		"request short": func(r *Result) {
			r.addRequest(&job{Request: Request{Input: 10}, onDevice: 9, prefilled: 2})
			r.PromptTokens++
		},
	} {
		bad := good
		bad.Channels = slices.Clone(good.Channels)
		spoil(&bad)
		err := bad.Check()
		require.ErrorContains(t, err, "not conserved", name)
		faults := err.(interface{ Unwrap() error }).Unwrap().(interface{ Unwrap() []error }).Unwrap()
		require.Len(t, faults, 1, "%s: nothing else is noticed: %v", name, err)
	}
}
