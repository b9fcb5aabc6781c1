// Package lookup is the vocabulary of kvoffload and its scans: given, block by
// block, whether a prompt's KV is there, how much of the prompt can be reused.
//
// A [Key] names a block. A [Source] answers for it with a [Result]: [Hit],
// [Pending], [Retry] or [Miss]. A [Scanner], made from the [Layout] of a model's
// KV groups, asks a Source about a [Query] and says in a [Plan] whether to load,
// to wait or to recompute. Whether a pending run is worth waiting for is not
// decided here: the scan asks a [Gate]. A server whose engine has no block hashes
// makes its keys with a [Chain].
//
// The package is pure. It reads no clock, takes no lock, starts no goroutine,
// does no I/O, and a scan allocates nothing. All of it but a [Chain] is safe for
// concurrent use, as far as the Source and the Gate that are handed in are.
//
// It promises that nothing a caller passes makes it panic (a Source or a Gate
// that panics is the caller's own affair; package tiering contains those), and
// that a forgotten or senseless answer counts as Miss: it costs a recompute,
// never a wrong read.
package lookup
