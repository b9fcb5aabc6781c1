package sim

import "container/list"

// device is the KV memory of the device and the prefix cache in it: blocks that a
// request holds, and blocks of earlier prompts that may go, the longest unused first.
type device struct {
	blocks int
	used   int // held and cached
	cached map[uint64]*deviceBlock
	idle   *list.List // of *deviceBlock that nobody holds, oldest first
}

type deviceBlock struct {
	id    uint64
	users int
	place *list.Element // in idle
}

func newDevice(blocks int) *device {
	return &device{blocks: blocks, cached: make(map[uint64]*deviceBlock), idle: list.New()}
}

// prefix returns how many leading blocks are on the device.
func (d *device) prefix(ids []uint64) int {
	for i, id := range ids {
		if d.cached[id] == nil {
			return i
		}
	}
	return len(ids)
}

// fits reports whether a request of so many blocks can be admitted that finds hits of
// them here.
func (d *device) fits(ids []uint64, hits, blocks int) bool {
	idle := d.idle.Len()
	for _, id := range ids[:hits] {
		if d.cached[id].users == 0 {
			idle--
		}
	}
	return blocks-hits <= d.blocks-d.used+idle
}

// admit takes the blocks of a request: its hits are held, the rest is fresh.
func (d *device) admit(ids []uint64, hits, blocks int) {
	for _, id := range ids[:hits] {
		d.hold(d.cached[id])
	}
	d.used += blocks - hits
	for d.used > d.blocks {
		oldest := d.idle.Remove(d.idle.Front()).(*deviceBlock)
		delete(d.cached, oldest.id)
		d.used--
	}
}

// fill makes a fresh block of a request findable. If another request has computed the
// same meanwhile, that one is shared and this one freed.
func (d *device) fill(id uint64) {
	if b := d.cached[id]; b != nil {
		d.hold(b)
		d.used--
		return
	}
	d.cached[id] = &deviceBlock{id: id, users: 1}
}

// held counts the blocks that a request holds.
func (d *device) held() int { return d.used - d.idle.Len() }

func (d *device) hold(b *deviceBlock) {
	if b.users == 0 {
		d.idle.Remove(b.place)
	}
	b.users++
}

// leave ends a request: the blocks of its prompt stay cached, the tail of the prompt
// to go first; the others are free.
func (d *device) leave(ids []uint64, blocks int) {
	for i := len(ids) - 1; i >= 0; i-- {
		b := d.cached[ids[i]]
		if b.users--; b.users == 0 {
			b.place = d.idle.PushBack(b)
		}
	}
	d.used -= blocks - len(ids)
}
