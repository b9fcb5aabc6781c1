package lookup_test

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kvoffload/kvoffload/lookup"
)

func chainOf(t testing.TB, o lookup.ChainOptions) *lookup.Chain {
	t.Helper()
	c, err := lookup.NewChain(o)
	require.NoError(t, err)
	return c
}

func tokensTo(n int) []uint32 {
	ts := make([]uint32, n)
	for i := range ts {
		ts[i] = uint32(i)
	}
	return ts
}

// The format is stable: other servers, and what is on disk, have these keys.
func TestChainFormat(t *testing.T) {
	c := chainOf(t, lookup.ChainOptions{TokensPerBlock: 4, Group: 3, Salt: []byte("tenant")})
	c.Append(1, 2, 3, 4, 5, 6, 7, 0xffffffff, 9)
	require.Equal(t, []string{
		"c5b31bf644d8754434ad85a3b04e1910d128dc11ab36a2c60a5d6791b3f173a7",
		"89c301e334cbb5d0d3d86838121b5af89c8fe39b8920a9c550db97fed4a15766",
	}, []string{c.Keys()[0].Hash.String(), c.Keys()[1].Hash.String()})
	require.Equal(t, uint32(3), c.Keys()[0].Group)

	// The same once more from the description of the format.
	root := sha256.Sum256([]byte("kvroot-1\x00\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00\x06tenant"))
	link := append([]byte("kvlink-1"), root[:]...)
	for _, token := range []uint32{1, 2, 3, 4} {
		link = binary.BigEndian.AppendUint32(link, token)
	}
	require.Equal(t, lookup.Hash(sha256.Sum256(link)), c.Keys()[0].Hash)
}

func TestChainIsIncremental(t *testing.T) {
	whole := chainOf(t, lookup.ChainOptions{TokensPerBlock: 4})
	require.Empty(t, whole.Keys())
	keys := whole.Extend(tokensTo(23))
	require.Len(t, keys, 5)
	require.Equal(t, keys, whole.Keys())
	require.Equal(t, 23, whole.Tokens())
	for _, step := range []int{1, 3, 4, 5, 22} {
		c := chainOf(t, lookup.ChainOptions{TokensPerBlock: 4})
		var got []lookup.Key
		for ts := tokensTo(23); len(ts) > 0; ts = ts[min(step, len(ts)):] {
			got = append(got, c.Extend(ts[:min(step, len(ts))])...)
		}
		require.Equal(t, keys, got, "in steps of %d", step)
		require.Equal(t, keys, c.Keys())
	}
	require.Empty(t, whole.Extend(nil))
}

// A caller that appends to a list it was given must not change the chain's.
func TestChainListsAreNotShared(t *testing.T) {
	c := chainOf(t, lookup.ChainOptions{TokensPerBlock: 1})
	var early, all []lookup.Key
	for i := range uint32(22) {
		if i == 20 {
			early, all = c.Extend([]uint32{i}), c.Keys()
			continue
		}
		c.Append(i)
	}
	_ = append(early, lookup.Key{})
	require.NotZero(t, c.Keys()[21])
	_ = append(all, lookup.Key{})
	require.NotZero(t, c.Keys()[21])
	require.Len(t, all, 21)
}

func TestChainKeepsApart(t *testing.T) {
	seen := map[lookup.Hash]string{}
	for _, c := range []struct {
		salt   string
		per    int
		tokens []uint32
	}{
		{"", 2, []uint32{1, 2}},
		{"", 2, []uint32{2, 1}},
		{"", 2, []uint32{1, 2, 1, 2}},
		{"", 4, []uint32{1, 2, 1, 2}},
		{"", 1, []uint32{1}},
		{"", 1, []uint32{1, 2}},
		{"", 1, []uint32{2}},
		{"a", 2, []uint32{1, 2}},
		{"b", 2, []uint32{1, 2}},
		{"a\x00", 2, []uint32{1, 2}},
		{"\x00\x00\x00\x01", 1, []uint32{2}},
		{"\x00\x00\x00\x01\x00\x00\x00\x02", 1, []uint32{1}},
	} {
		chain := chainOf(t, lookup.ChainOptions{TokensPerBlock: c.per, Salt: []byte(c.salt)})
		keys := chain.Extend(c.tokens)
		h := keys[len(keys)-1].Hash
		require.Empty(t, seen[h], "%v", c)
		seen[h] = fmt.Sprint(c)
	}
	// A later block differs although its own tokens are the same.
	a, b := chainOf(t, lookup.ChainOptions{TokensPerBlock: 2}), chainOf(t, lookup.ChainOptions{TokensPerBlock: 2})
	require.NotEqual(t, a.Extend([]uint32{1, 2, 5, 6})[1], b.Extend([]uint32{1, 3, 5, 6})[1])
}

func TestChainDoesNotKeepTheSalt(t *testing.T) {
	salt := []byte("tenant")
	a := chainOf(t, lookup.ChainOptions{TokensPerBlock: 2, Salt: salt})
	salt[0] = 'x'
	b := chainOf(t, lookup.ChainOptions{TokensPerBlock: 2, Salt: []byte("tenant")})
	require.Equal(t, b.Extend([]uint32{1, 2}), a.Extend([]uint32{1, 2}))
}

func TestCase91_ChainOptions(t *testing.T) {
	for _, n := range []int{0, -1, lookup.MaxTokens + 1} {
		c, err := lookup.NewChain(lookup.ChainOptions{TokensPerBlock: n, Group: lookup.MaxGroups})
		require.Nil(t, c)
		require.ErrorIs(t, err, lookup.ErrChain)
		require.EqualError(t, err, fmt.Sprintf(
			"lookup: invalid chain: TokensPerBlock is %d, want 1 to 536870911\nGroup is 64, want 0 to 63", n))
	}
}

func TestChainZeroValue(t *testing.T) {
	var c lookup.Chain
	require.Empty(t, c.Extend(tokensTo(100)))
	c.Append(1)
	require.Empty(t, c.Keys())
	require.Equal(t, 101, c.Tokens())
	_, err := c.AppendKeys(nil, 0, 16)
	require.ErrorIs(t, err, lookup.ErrChain)
}

// One chain at the granularity of tails names the blocks of every group.
func TestChainAppendKeys(t *testing.T) {
	c := chainOf(t, lookup.ChainOptions{TokensPerBlock: 4})
	c.Extend(tokensTo(30))
	blocks, err := c.AppendKeys(nil, 2, 8)
	require.NoError(t, err)
	require.Equal(t, []lookup.Key{{c.Keys()[1].Hash, 2}, {c.Keys()[3].Hash, 2}, {c.Keys()[5].Hash, 2}}, blocks)
	tails, err := c.AppendKeys(nil, 2, 4)
	require.NoError(t, err)
	require.Len(t, tails, 7)

	c.Extend(tokensTo(10))
	more, err := c.AppendKeys(blocks, 2, 8)
	require.NoError(t, err)
	require.Equal(t, blocks, more[:3])
	require.Equal(t, []lookup.Key{{c.Keys()[7].Hash, 2}, {c.Keys()[9].Hash, 2}}, more[3:])

	for _, bad := range []int{0, -4, 6, 2} {
		dst, err := c.AppendKeys(blocks, 2, bad)
		require.ErrorIs(t, err, lookup.ErrChain, "%d", bad)
		require.Equal(t, blocks, dst)
	}
	_, err = c.AppendKeys(nil, lookup.MaxGroups, 8)
	require.ErrorIs(t, err, lookup.ErrChain)
}

func BenchmarkChain(b *testing.B) {
	for _, per := range []int{16, 64, 256} {
		b.Run(fmt.Sprint(per), func(b *testing.B) {
			b.ReportAllocs()
			const blocks = 1000
			tokens := tokensTo(per * blocks)
			for b.Loop() {
				c, _ := lookup.NewChain(lookup.ChainOptions{TokensPerBlock: per})
				c.Extend(tokens)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*blocks), "ns/block")
		})
	}
}
