// Package sim is a model of an inference engine that uses the library: one device with
// continuous batching and a prefix cache of its own, links to host memory, and a
// directory tier behind it, all on a virtual clock. It answers what a waiting policy
// costs on a workload, in seconds of computing for hours of traffic.
//
// The Manager, its pool, the policies and the scans are the real ones. What is modelled
// is the rest, and simply:
//
//   - A step takes as long as its prefill tokens at a constant rate, and at least the
//     decode time if anything decodes: decoding is bound by memory, prefill by
//     arithmetic, and a chunked step overlaps them. Attention over a longer context
//     costs no more.
//   - A request holds the device blocks of its prompt and its whole output from its
//     admission to its end. There is no preemption.
//   - A request asks when it is at the head of those that are not parked and the device
//     has room for it, not when it arrives. One that is parked holds up nobody.
//   - Transfers overlap with computing. Each direction of the host link, and the disk,
//     serve one block at a time; the disk reads before it writes, and has room for all.
//   - What is being stored has a place to be read from: the request's device blocks,
//     which stay until then, or a write buffer of bounded size. What does not fit there,
//     or in the primary, is offered again with the next chunk and at the end, and then
//     never stored.
//   - The blocks of a prompt are cached and stored; what is generated is not, since a
//     trace does not say by which keys later requests will name it.
//   - The keys of a prompt leave out its last token, which is always computed.
//   - Requests of a trace that have the same time arrive together, as it says, unless
//     they are spread.
//
// It conserves work, and checks that it does: see Result.Check.
package sim
