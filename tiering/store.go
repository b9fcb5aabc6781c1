package tiering

import (
	"errors"
	"fmt"

	"github.com/kvoffload/kvoffload/lookup"
	"github.com/kvoffload/kvoffload/tiering/internal/pool"
)

// Store reserves room in the primary for blocks that the device has computed. The job
// names exactly those of keys that need writing, and where; blocks that the primary
// has already, or that are being written, are not in it. Copy them, then report each
// with Job.Done, or all with Job.Finish. The job does not end with the request.
//
// All or nothing: if there is no room for all that need writing, the error wraps
// [ErrFull] and nothing was changed. No block named in the call is evicted for it.
// A key given twice is written once. ends[i] is the token position at which keys[i]
// ends, which lets the end of a prefix be evicted before its start; nil, or zero, if
// it isn't known.
//
// Store only blocks whose every token has its KV: the last sampled token has none
// yet.
func (r *Request) Store(keys []lookup.Key, ends []int) (*Job, error) {
	if err := checkStore(keys, ends); err != nil {
		return nil, err
	}
	if err := r.enter(); err != nil {
		return nil, err
	}
	m := r.m
	now := m.now()
	m.mu.Lock()
	defer m.unlock()
	j, err := r.storeLocked(keys, ends)
	if j != nil {
		j.started = now
	}
	r.leaveLocked(now)
	return j, err
}

func checkStore(keys []lookup.Key, ends []int) error {
	var faults []error
	if ends != nil && len(ends) != len(keys) {
		faults = append(faults, fmt.Errorf("%d ends for %d keys", len(ends), len(keys)))
	}
	for i, end := range ends {
		if end < 0 {
			faults = append(faults, fmt.Errorf("ends[%d] is %d", i, end))
		}
	}
	for i := range keys {
		if keys[i].Group >= lookup.MaxGroups {
			faults = append(faults, fmt.Errorf("keys[%d].Group is %d, want less than %d", i, keys[i].Group, lookup.MaxGroups))
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrStore, errors.Join(faults...))
}

// storeLocked claims what the call names and the primary has, so that making room
// does not evict it, and reserves the rest.
func (r *Request) storeLocked(keys []lookup.Key, ends []int) (*Job, error) {
	m := r.m
	named, missing := m.claimNamed(keys)
	defer func() {
		for _, block := range named {
			m.pool.Release(block)
		}
	}()
	if room := m.pool.Room(); missing > room {
		if missing = m.distinctMissing(keys); missing > room {
			r.noteReadable(keys, ends)
			m.refuse(r, StoreJob, missing)
			return nil, fmt.Errorf("%w: %d blocks to store, room for %d of %d", ErrFull, missing, room, m.pool.Len())
		}
	}
	j := &Job{m: m, kind: StoreJob, request: r.id}
	if missing == 0 {
		r.noteReadable(keys, ends)
		return j, nil
	}
	m.jobs.add(j)
	for i := range keys {
		r.storeOne(j, i, &keys[i], endOf(ends, i))
	}
	m.changes++
	return j, nil
}

// claimNamed claims those of keys that are readable, and counts those that the primary
// does not have.
func (m *Manager) claimNamed(keys []lookup.Key) (named []BlockID, missing int) {
	named = make([]BlockID, 0, len(keys))
	for i := range keys {
		switch block, state := m.pool.Find(&keys[i]); {
		case state == pool.Ready && m.pool.Claim(block):
			named = append(named, block)
		case state == pool.Free:
			missing++
		}
	}
	return named, missing
}

// noteReadable notes those of keys that are readable as used.
func (r *Request) noteReadable(keys []lookup.Key, ends []int) {
	for i := range keys {
		if block, state := r.m.pool.Find(&keys[i]); state == pool.Ready {
			r.noteUsed(&keys[i], block, endOf(ends, i))
		}
	}
}

// storeOne reserves a block for one key, unless it has one by now, and notes it as used
// unless somebody else is writing it.
func (r *Request) storeOne(j *Job, i int, key *lookup.Key, end int) {
	m := r.m
	block, state := m.pool.Find(key)
	if state == pool.Pending {
		return
	}
	if state == pool.Free {
		var ok bool
		if block, ok = m.reserve(key, j.index); !ok {
			return // can't be: the room was counted
		}
		j.add(JobBlock{Key: *key, Block: block, Generation: m.pool.Gen(block), Index: i})
	}
	r.noteUsed(key, block, end)
}

// distinctMissing counts the keys that the primary does not have, each once.
func (m *Manager) distinctMissing(keys []lookup.Key) int {
	missing := make(map[lookup.Key]struct{})
	for i := range keys {
		if _, state := m.pool.Find(&keys[i]); state == pool.Free {
			missing[keys[i]] = struct{}{}
		}
	}
	return len(missing)
}

func endOf(ends []int, i int) int {
	if ends == nil {
		return 0
	}
	return ends[i]
}

// state is what the primary alone says of a key. The lock is held.
func (m *Manager) state(key *lookup.Key) lookup.Result {
	switch _, state := m.pool.Find(key); state {
	case pool.Ready:
		return lookup.Hit
	case pool.Pending:
		return lookup.Pending
	}
	return lookup.Miss
}
