package lookup_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvoffload/kvoffload/lookup"
)

func window(t *testing.T, script string, blocks int) lookup.Found {
	t.Helper()
	w := &world{blocks: [][]lookup.Result{results(script)}}
	ks := keysOf(0, len(w.blocks[0]))
	f := lookup.Window(w, ks, blocks)
	require.Equal(t, w.asked, f.Asked)
	require.Equal(t, f, lookup.Window(placedWorld{world: w, t: t, stride: 9}, ks, blocks))
	return f
}

func TestS5_LastFullWindow(t *testing.T) {
	for _, c := range []struct {
		script      string
		window, end int
		asked       int
	}{
		{"", 1, 0, 0},
		{"h", 1, 1, 1},
		{"hhhh", 2, 4, 2},
		{"hhhm", 2, 3, 3},
		{"hhmh", 2, 2, 4},
		{"mhmh", 2, 0, 4},
		{"hmhm", 2, 1, 4}, // the leading run
		{"hh", 5, 2, 2},
		{"mhhh", 5, 0, 4},
		{"mhhhm", 3, 4, 4},
	} {
		f := window(t, c.script, c.window)
		require.False(t, f.Wait, "%+v", c)
		require.Equal(t, c.end, f.Blocks, "%+v", c)
		require.Equal(t, c.asked, f.Asked, "%+v", c)
		want := lookup.ReasonReady
		if c.end == 0 {
			want = lookup.ReasonNotStored
		}
		require.Equal(t, want, f.Reason, "%+v", c)
	}
}

func TestS5_RetryAnywhereOnTheWayWaits(t *testing.T) {
	for script, size := range map[string]int{"hhr": 2, "r": 1, "hrp": 2, "mr": 3, "rm": 1} {
		f := window(t, script, size)
		require.True(t, f.Wait, script)
		require.Equal(t, lookup.ReasonRetry, f.Reason, script)
		require.Zero(t, f.Blocks)
	}
	require.False(t, window(t, "rhh", 2).Wait, "before the window nobody asks")
}

func TestS5_PendingInTheWindowWaits(t *testing.T) {
	for script, size := range map[string]int{"hp": 2, "ph": 2, "hhhp": 1, "p": 3, "pm": 3} {
		f := window(t, script, size)
		require.True(t, f.Wait, script)
		require.Equal(t, lookup.ReasonPending, f.Reason, script)
	}
	require.False(t, window(t, "phh", 2).Wait, "before the window nobody asks")
}

func TestS5_MissClearsThePendingOfItsRun(t *testing.T) {
	f := window(t, "hhmp", 2)
	require.False(t, f.Wait)
	require.Equal(t, 2, f.Blocks)
	require.True(t, window(t, "hpmh", 2).Wait, "this one is in the window that is chosen")
}

// A Retry breaks the run just as a Miss does; were it counted, the window would be
// complete with it.
func TestS5_RetryIsNotPartOfAWindow(t *testing.T) {
	require.Equal(t, 4, window(t, "hhrh", 2).Asked)
	require.Equal(t, 2, window(t, "hhph", 2).Asked)
}

func TestS8_WindowSizesThatAreNone(t *testing.T) {
	for _, size := range []int{0, -1, math.MinInt} {
		require.Equal(t, lookup.Found{Reason: lookup.ReasonNotStored}, window(t, "hh", size))
	}
	require.Equal(t, 2, window(t, "hh", math.MaxInt).Blocks)
	require.Zero(t, lookup.Window(nil, keysOf(0, 3), 2).Blocks)
	require.Zero(t, lookup.Window(nil, nil, 2).Asked)
}
