package sim

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kvoffload/kvoffload/policy"
)

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
	require.NotEmpty(t, r.Waits)
	require.Equal(t, slices.Max(r.Waits), r.MaxWait)
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
	p.PrimaryBlocks, p.DeviceBlocks, p.StagingBlocks = 10, 1, -1
	require.ErrorContains(t, p.Validate(), "StagingBlocks is -1, want 0 or more")
	p.StagingBlocks = 0
	_, err = Run(context.Background(), p, []Request{{Input: 1000, Output: 1, Blocks: []uint64{1, 2}}}, nil)
	require.ErrorIs(t, err, ErrTooLong)
	require.ErrorContains(t, err, "number 1 of the workload needs 2 blocks, there are 1")
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := Run(ctx, Presets["host"](), Generate(1, 10), nil)
	require.ErrorIs(t, err, context.Canceled)
}

func TestMeanAndPercentiles(t *testing.T) {
	require.Equal(t, []time.Duration{0}, Percentiles(nil, 50))
	require.Zero(t, Mean(nil))
	var times []time.Duration
	for i := range 100 {
		times = append(times, time.Duration(100-i))
	}
	require.Equal(t, []time.Duration{1, 7, 50, 90, 99, 100}, Percentiles(times, 0, 7, 50, 90, 99, 100))
	require.Equal(t, time.Duration(50), Mean(times))
}
