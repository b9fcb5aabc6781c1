package lookup_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvoffload/kvoffload/lookup"
)

func TestStringsAreTotal(t *testing.T) {
	for want, v := range map[string]interface{ String() string }{
		"miss": lookup.Miss, "hit": lookup.Hit, "pending": lookup.Pending, "retry": lookup.Retry,
		"result(4)": lookup.Result(4), "recompute": lookup.Recompute, "load": lookup.Load, "wait": lookup.Wait,
		"action(3)": lookup.Action(3), "full": lookup.FullAttention, "sliding": lookup.SlidingWindow,
		"kind(2)": lookup.Kind(2), "reason(200)": lookup.Reason(200), "budget": lookup.ReasonBudget,
		"not_stored": lookup.ReasonNotStored, "refused": lookup.ReasonRefused,
	} {
		require.Equal(t, want, v.String())
	}
	seen := map[string]bool{}
	for r := range lookup.Reason(lookup.Reasons) {
		require.True(t, r.Valid())
		require.NotContains(t, r.String(), "(")
		require.False(t, seen[r.String()], "%v", r)
		seen[r.String()] = true
	}
	require.False(t, lookup.Reason(lookup.Reasons).Valid())
}

func TestResultUnresolved(t *testing.T) {
	for r, want := range map[lookup.Result]bool{
		lookup.Miss: false, lookup.Hit: false, lookup.Pending: true, lookup.Retry: true, 4: false, 255: false,
	} {
		require.Equal(t, want, r.Unresolved())
	}
}

func TestKeys(t *testing.T) {
	k := lookup.KeyFrom64(0x0102030405060708, 5)
	require.Equal(t, "5:0102030405060708", k.String())
	require.Len(t, k.Hash.String(), 64)
	same, err := lookup.KeyFromBytes([]byte{1, 2, 3, 4, 5, 6, 7, 8}, 5)
	require.NoError(t, err)
	require.Equal(t, k, same)
	require.NotEqual(t, k, lookup.KeyFrom64(0x0102030405060708, 6))
	h16 := [16]byte{15: 9}
	same, err = lookup.KeyFromBytes(h16[:], 1)
	require.NoError(t, err)
	require.Equal(t, lookup.KeyFrom128(h16, 1), same)
	h32 := [32]byte{31: 9}
	same, err = lookup.KeyFromBytes(h32[:], 1)
	require.NoError(t, err)
	require.Equal(t, lookup.KeyFrom256(h32, 1), same)
	_, err = lookup.KeyFromBytes(make([]byte, 20), 1)
	require.ErrorIs(t, err, lookup.ErrHashSize)
	require.EqualError(t, err, "lookup: hash must be 8, 16 or 32 bytes, got 20")
}
