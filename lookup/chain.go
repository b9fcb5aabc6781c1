package lookup

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// ChainOptions says how token ids become block keys.
type ChainOptions struct {
	// TokensPerBlock is how many tokens one link of the chain has: the group's
	// block, or Layout.TokensPerHash where partial tails are used. Required,
	// positive: there is no good default, since it has to fit the Layout.
	TokensPerBlock int
	// Group is the KV group of the keys that Extend and Keys return. Default 0.
	// The hashes don't depend on it, so that groups can share a chain (see
	// AppendKeys).
	Group uint32
	// Salt keeps apart what must not be shared though the tokens are equal: the
	// tenant, the model and its version, the adapter, the images in the prompt.
	// Chains with different salts have no key in common. A salt that is secret
	// also keeps those who don't know it from finding out by timing what has been
	// asked. Default empty: everyone shares. It is not kept.
	Salt []byte
}

// ErrChain is wrapped by every error about a Chain.
var ErrChain = errors.New("lookup: invalid chain")

func (o ChainOptions) validate() error {
	var faults []error
	if o.TokensPerBlock <= 0 || o.TokensPerBlock > MaxTokens {
		faults = append(faults, fmt.Errorf("TokensPerBlock is %d, want 1 to %d", o.TokensPerBlock, MaxTokens))
	}
	if o.Group >= MaxGroups {
		faults = append(faults, fmt.Errorf("Group is %d, want 0 to %d", o.Group, MaxGroups-1))
	}
	if len(faults) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrChain, errors.Join(faults...))
}

// The format. Integers are big-endian; the two tags are what keeps a root from
// being passed off as a link, and the salt's length what keeps its end from being
// taken for something else.
//
//	root   = SHA-256("kvroot-1" | uint64 tokens per block | uint64 len(salt) | salt)
//	hash i = SHA-256("kvlink-1" | hash i-1 or root | uint32 for each of its tokens)
//
// With 16 tokens a link is 104 bytes, which SHA-256 takes in two steps.
const (
	rootTag   = "kvroot-1"
	linkTag   = "kvlink-1"
	linkStart = len(linkTag) + HashSize // where a link's tokens begin
)

// Chain derives block keys from token ids, for servers whose engine has no block
// hashes of its own. A block's hash covers its tokens, all tokens before it and the
// salt, so equal keys mean equal prefixes. It is SHA-256: no prompt can be made to
// collide with another one's. The format is stable: keys may be stored on disk and
// computed by several servers.
//
// A Chain grows with its request and hashes each token once. It is not safe for
// concurrent use. Make it with [NewChain]; the zero Chain counts tokens and has no
// keys.
type Chain struct {
	tokensPerBlock int
	group          uint32
	tokens         int
	keys           []Key
	// link is the input of the next hash as far as its tokens are known.
	link []byte
}

// NewChain makes a chain without tokens. An error wraps [ErrChain] and names every
// fault.
func NewChain(o ChainOptions) (*Chain, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	root := binary.BigEndian.AppendUint64([]byte(rootTag), uint64(o.TokensPerBlock))
	root = binary.BigEndian.AppendUint64(root, uint64(len(o.Salt)))
	parent := sha256.Sum256(append(root, o.Salt...))
	return &Chain{
		tokensPerBlock: o.TokensPerBlock,
		group:          o.Group,
		link:           append([]byte(linkTag), parent[:]...),
	}, nil
}

// Append adds tokens at the end.
func (c *Chain) Append(tokens ...uint32) { c.Extend(tokens) }

// Extend adds tokens at the end and returns the keys of the blocks that they
// complete. Tokens of a block that is not complete yet are kept for the next call.
// The result is part of what Keys returns.
func (c *Chain) Extend(tokens []uint32) []Key {
	c.tokens += len(tokens)
	if c.tokensPerBlock == 0 {
		return nil
	}
	had := len(c.keys)
	begun := (len(c.link) - linkStart) / 4
	c.keys = slices.Grow(c.keys, (begun+len(tokens))/c.tokensPerBlock)
	for _, token := range tokens {
		c.link = binary.BigEndian.AppendUint32(c.link, token)
		if len(c.link)-linkStart == 4*c.tokensPerBlock {
			c.seal()
		}
	}
	return c.keys[had:len(c.keys):len(c.keys)]
}

// seal hashes the complete link and begins the next one.
func (c *Chain) seal() {
	hash := sha256.Sum256(c.link)
	c.keys = append(c.keys, Key{Hash: hash, Group: c.group})
	copy(c.link[len(linkTag):], hash[:])
	c.link = c.link[:linkStart]
}

// Tokens returns how many tokens the chain has, those of an incomplete block
// included: what Query.Tokens wants.
func (c *Chain) Tokens() int { return c.tokens }

// Keys returns the keys of all complete blocks, in order: one list of Query.Keys.
// It stays as it is when the chain grows. It is not to be changed.
func (c *Chain) Keys() []Key { return c.keys[:len(c.keys):len(c.keys)] }

// AppendKeys appends to dst the keys of another group over the same tokens: those
// of its complete blocks from the len(dst)th on. With what it returned before as
// dst it adds only what has come since. The group's block must be a multiple of the
// chain's; a chain of Layout.TokensPerHash so serves every group of a layout, with
// the group's own TokensPerBlock for Query.Keys, and TokensPerHash for
// Query.TailKeys. Nothing is hashed. An error wraps [ErrChain]; dst is then
// returned as it was.
func (c *Chain) AppendKeys(dst []Key, group uint32, tokensPerBlock int) ([]Key, error) {
	if group >= MaxGroups {
		return dst, fmt.Errorf("%w: group is %d, want 0 to %d", ErrChain, group, MaxGroups-1)
	}
	if c.tokensPerBlock == 0 {
		return dst, fmt.Errorf("%w: not made by NewChain", ErrChain)
	}
	if tokensPerBlock <= 0 || tokensPerBlock%c.tokensPerBlock != 0 {
		return dst, fmt.Errorf("%w: block of %d tokens is no multiple of the chain's %d",
			ErrChain, tokensPerBlock, c.tokensPerBlock)
	}
	links := tokensPerBlock / c.tokensPerBlock
	for len(dst) < len(c.keys)/links {
		last := (len(dst)+1)*links - 1
		dst = append(dst, Key{Hash: c.keys[last].Hash, Group: group})
	}
	return dst, nil
}
