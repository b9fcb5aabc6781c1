package sim

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kvoffload/kvoffload/policy"
)

// slowStores is a machine whose stores take a second a block, and whose device has room
// for one prompt of four blocks and a little.
func slowStores() Params {
	p := base()
	p.DeviceBlocks, p.PrimaryBlocks = 6, 100
	p.StoreBandwidth = p.blockBytes()
	p.Policy, p.StalledAfter = policy.Always{}, policy.NoLimit
	return p
}

func prompt(at time.Duration, first uint64) Request {
	r := Request{Arrival: at, Input: 4*TokensPerBlock + 1, Output: 1}
	for i := range uint64(5) {
		r.Blocks = append(r.Blocks, first+i)
	}
	return r
}

func runs(t *testing.T, p Params, workload ...Request) Result {
	t.Helper()
	r, err := Run(context.Background(), p, workload, nil)
	require.NoError(t, err)
	return r
}

// What is being stored is read from the device, which has no room for others meanwhile.
func TestStoresHoldTheDevice(t *testing.T) {
	p := slowStores()
	r := runs(t, p, prompt(0, 10), prompt(time.Second, 20))
	require.Less(t, r.TTFT[0], 200*time.Millisecond)
	require.Greater(t, r.TTFT[1], 3*time.Second, "the second waits for the stores of the first")
	require.Empty(t, r.Waits)

	p.StagingBlocks = 4
	r = runs(t, p, prompt(0, 10), prompt(time.Second, 20))
	require.Less(t, r.TTFT[1], 200*time.Millisecond, "the buffer has them")
	require.EqualValues(t, 5, r.Stats.Stored, "a block had left it when the second came")
	require.Equal(t, 3, r.StoresRefused)
}

// Nobody waits for a store from the device: who asks for it finds the block there. It
// takes a write buffer.
func TestWaitsForStoresTakeABuffer(t *testing.T) {
	p := slowStores()
	workload := []Request{prompt(0, 10), prompt(time.Second, 20), prompt(1500*time.Millisecond, 10)}
	require.Empty(t, runs(t, p, workload...).Waits)

	p.StagingBlocks = 50
	r := runs(t, p, workload...)
	require.Len(t, r.Waits, 1)
	require.Greater(t, r.MaxWait, time.Second)
	require.Equal(t, 3*TokensPerBlock, r.LoadedTokens, "its first block is still on the device")
	require.Equal(t, 2*(4*TokensPerBlock+1)+1, r.RecomputedTokens)
}

// What found no room is offered again from where it was refused: a prefix with a hole
// is no use behind it.
func TestRefusedStoresLeaveNoHole(t *testing.T) {
	p := slowStores()
	p.StagingBlocks = 1
	p.StoreBandwidth = 4 * gigabyte // about two blocks a step
	r := runs(t, p, prompt(0, 10), prompt(time.Second, 20), prompt(2*time.Second, 10))
	require.Zero(t, r.StoresRefused)
	require.Equal(t, 3*TokensPerBlock, r.LoadedTokens, "its first block is still on the device")
	require.Equal(t, 2*(4*TokensPerBlock+1)+1, r.RecomputedTokens)
}

// What the buffer had no room for during prefill is offered once more at the end.
func TestStoresAreOfferedOnceMoreAtTheEnd(t *testing.T) {
	p := slowStores()
	p.StagingBlocks = 1
	long := prompt(0, 10)
	long.Output = 200 // three seconds in which a block leaves the buffer
	r := runs(t, p, long)
	require.EqualValues(t, 2, r.Stats.Stored)
	require.Equal(t, 2, r.StoresRefused)
}
