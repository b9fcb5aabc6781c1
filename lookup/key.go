package lookup

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
)

// HashSize is the size of a block's hash in bytes.
const HashSize = 32

// MaxGroups is how many KV groups a [Layout] may have, and one more than the
// highest group a [Key] may name. No model is near it; it lets the group share a
// machine word with other things in tables of millions of keys.
const MaxGroups = 64

// Hash identifies the tokens of a block and all tokens before it, together with
// whatever else must keep two blocks apart (a tenant's salt, the model, an
// adapter). Equal hashes must mean equal KV.
type Hash [HashSize]byte

// String returns the hash in hexadecimal.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// Key names one block's KV: the hash of its tokens and the KV group it belongs
// to. It is comparable, has a fixed size and holds no pointer. The zero Key is a
// key like any other.
type Key struct {
	Hash  Hash
	Group uint32
}

// String returns the group and the first eight bytes of the hash, which is what
// a person reading a log wants.
func (k Key) String() string {
	return strconv.FormatUint(uint64(k.Group), 10) + ":" + hex.EncodeToString(k.Hash[:8])
}

// ErrHashSize is returned by [KeyFromBytes] for a hash that is not 8, 16 or 32
// bytes long.
var ErrHashSize = errors.New("lookup: hash must be 8, 16 or 32 bytes")

// KeyFrom64 makes a key from an 8-byte hash (XXH64, SipHash, an engine's own
// block hash). The rest of the hash is zero. A 64-bit hash that is not keyed can
// be forged by a client: the tables here survive that, but two prompts with
// equal hashes share their KV.
func KeyFrom64(hash uint64, group uint32) Key {
	k := Key{Group: group}
	binary.BigEndian.PutUint64(k.Hash[:8], hash)
	return k
}

// KeyFrom128 makes a key from a 16-byte hash (XXH128, a UUID). The rest of the
// hash is zero.
func KeyFrom128(hash [16]byte, group uint32) Key {
	k := Key{Group: group}
	copy(k.Hash[:], hash[:])
	return k
}

// KeyFrom256 makes a key from a 32-byte hash (SHA-256, BLAKE3).
func KeyFrom256(hash [HashSize]byte, group uint32) Key {
	return Key{Hash: hash, Group: group}
}

// KeyFromBytes makes a key from a hash of 8, 16 or 32 bytes; any other length is
// an [ErrHashSize]. KeyFromBytes of the big-endian bytes of h equals
// KeyFrom64(h).
func KeyFromBytes(hash []byte, group uint32) (Key, error) {
	switch len(hash) {
	case 8, 16, HashSize:
		k := Key{Group: group}
		copy(k.Hash[:], hash)
		return k, nil
	}
	return Key{}, fmt.Errorf("%w, got %d", ErrHashSize, len(hash))
}
