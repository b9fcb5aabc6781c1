package sim

import (
	"errors"

	"github.com/kvoffload/kvoffload/tiering"
)

// storeBatch is how many blocks are offered to the host at a time: the Manager takes
// all or none, and a long prompt that was refused once should not be refused for ever.
const storeBatch = 16

// store offers to the host what has been computed. What is refused is offered again
// with the next chunk, so that no prefix gets a hole.
func (e *engine) store(j *job) {
	for j.stored < j.filled {
		n := min(j.filled-j.stored, storeBatch)
		if e.StagingBlocks > 0 {
			n = min(n, e.StagingBlocks-e.staged)
		}
		if n == 0 || !e.offer(j, n) {
			return
		}
	}
}

// offer hands the next n blocks over, and reports whether they were taken.
func (e *engine) offer(j *job, n int) bool {
	ends := make([]int, n)
	for i := range ends {
		ends[i] = (j.stored + i + 1) * TokensPerBlock
	}
	write, err := j.handle.Store(j.keys[j.stored:j.stored+n], ends)
	if err != nil {
		if !errors.Is(err, tiering.ErrFull) {
			e.result.fault(err)
		}
		return false
	}
	j.stored += n
	j.storing += write.Len()
	for i := range write.Len() {
		e.write(j, write, i)
	}
	return true
}

// write copies one block to the host. Until it has been read the device keeps it: with
// a write buffer that is soon, without one it is when the store ends.
func (e *engine) write(j *job, write *tiering.Job, i int) {
	done := func() {
		if err := write.Done(i, nil); err != nil {
			e.result.fault(err)
		}
	}
	read := func() {
		j.storing--
		e.free(j)
	}
	if e.StagingBlocks == 0 {
		e.stores.carry(e.blockBytes(), func() { done(); read() })
		return
	}
	e.staged++
	e.staging.carry(e.blockBytes(), func() {
		read()
		e.stores.carry(e.blockBytes(), func() { e.staged--; done() })
	})
}

// end ends a request. Its last blocks are offered once more.
func (e *engine) end(j *job) {
	e.store(j)
	e.result.StoresRefused += j.filled - j.stored
	j.handle.End()
	delete(e.byHandle, j.handle)
	j.over = true
	e.free(j)
	e.result.addRequest(j)
}

// free gives back the device blocks of a request that is over once no store reads them,
// all together, as engines do.
func (e *engine) free(j *job) {
	if j.over && j.storing == 0 {
		e.device.leave(j.ids, j.blocks)
	}
}

func (e *engine) finish() {
	r := &e.result
	r.Elapsed = e.clock.now
	r.Stats = e.manager.Stats()
	r.DeviceHeld = e.device.held()
	block := e.blockBytes()
	written := int64(r.Stats.Stored) * block
	r.Channels = []Channel{
		e.loads.channel("load", int64(r.LoadedTokens)*int64(e.BytesPerToken)),
		e.stores.channel("store", written),
	}
	if e.StagingBlocks > 0 {
		r.Channels = append(r.Channels, e.staging.channel("staging", written))
	}
	if d := e.disk; d != nil {
		r.DiskBusy = d.busy
		r.Channels = append(r.Channels,
			Channel{"disk read", d.ReadBandwidth, d.read * block, int64(r.Stats.Promoted) * block},
			Channel{"disk write", d.WriteBandwidth, d.written * block, int64(r.Stats.Cascaded) * block})
	}
}
