package sim

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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

func arrivals(workload []Request) (seconds []float64) {
	for _, r := range workload {
		seconds = append(seconds, r.Arrival.Seconds())
	}
	return seconds
}

func at(seconds ...float64) (workload []Request) {
	for _, s := range seconds {
		workload = append(workload, Request{Arrival: time.Duration(s * float64(time.Second)), Input: 1})
	}
	return workload
}

func TestSpread(t *testing.T) {
	for _, c := range []struct{ from, want []float64 }{
		{nil, nil},
		{[]float64{1}, []float64{1}},
		{[]float64{2, 2, 2}, []float64{2, 2, 2}}, // nothing says how coarse the clock is
		{[]float64{0, 3, 3, 6}, []float64{0, 3, 4.5, 6}},
		{[]float64{0, 0, 0, 3, 9, 9, 9}, []float64{0, 1, 2, 3, 9, 11, 13}},
	} {
		from := at(c.from...)
		require.Equal(t, c.want, arrivals(Spread(from)), "%v", c.from)
		require.Equal(t, at(c.from...), from, "is not changed")
	}
	require.InDelta(t, 7.0/3, Together(at(0, 0, 0, 3, 9, 9, 9)), 1e-9)
	require.Zero(t, Together(nil))
}

func TestScaleStaysWithinTime(t *testing.T) {
	require.Equal(t, []float64{0, 2, 4}, arrivals(Scale(at(0, 1, 2), 0.5)))
	for _, r := range Scale(at(1, 2), 1e-300) {
		require.Equal(t, time.Duration(maxArrivalTime), r.Arrival)
	}
}

func TestDemand(t *testing.T) {
	first := Request{Input: 1025, Blocks: []uint64{1, 2, 3}}
	again := Request{Arrival: time.Second, Input: 1025, Blocks: []uint64{1, 2, 4}}
	asked, fresh := Demand([]Request{first, again})
	require.EqualValues(t, 2050, asked)
	require.EqualValues(t, 1026, fresh, "two blocks are found, the token after them is not")
}
