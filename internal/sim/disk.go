package sim

import (
	"time"

	"github.com/kvoffload/kvoffload/lookup"
	"github.com/kvoffload/kvoffload/tiering"
)

// disk is a directory as a tier: it has to look before it knows what it has, serves
// one block at a time, and reads before it writes.
type disk struct {
	DiskParams
	agenda  *agenda
	bytes   int64 // of a block
	changed func()

	has map[lookup.Key]bool
	// known is until when a look at the directory is believed.
	known     map[lookup.Key]time.Duration
	checkFree time.Duration

	reads, writes []transfer
	serving       bool
	busy          time.Duration
	read, written int64 // blocks
}

type transfer struct {
	job *tiering.Job
	at  int
}

// knownFor is how long the answer of an existence check is kept.
const knownFor = time.Minute

// checking marks a key whose check is under way.
const checking = time.Duration(-1)

func newDisk(p DiskParams, a *agenda, bytes int64) *disk {
	return &disk{
		DiskParams: p, agenda: a, bytes: bytes,
		has: make(map[lookup.Key]bool), known: make(map[lookup.Key]time.Duration),
	}
}

func (d *disk) Name() string          { return "disk" }
func (d *disk) Attach(changed func()) { d.changed = changed }

func (d *disk) Lookup(key lookup.Key) lookup.Result {
	now := d.agenda.clock.now
	until, asked := d.known[key]
	switch {
	case asked && until == checking:
		return lookup.Retry
	case asked && now < until:
		if d.has[key] {
			return lookup.Hit
		}
		return lookup.Miss
	}
	d.known[key] = checking
	d.checkFree = max(d.checkFree, now) + d.CheckPerKey
	d.agenda.plan(d.checkFree+d.CheckLatency, func() {
		d.known[key] = d.agenda.clock.now + knownFor
		d.changed()
	})
	return lookup.Retry
}

func (d *disk) Load(job *tiering.Job) error {
	for i := range job.Len() {
		d.reads = append(d.reads, transfer{job, i})
	}
	d.serve()
	return nil
}

func (d *disk) Store(job *tiering.Job) error {
	if len(d.writes)+job.Len() > d.QueueBlocks {
		return tiering.ErrDeclined
	}
	for i := range job.Len() {
		d.writes = append(d.writes, transfer{job, i})
	}
	d.serve()
	return nil
}

// serve starts the next transfer, if none is going on.
func (d *disk) serve() {
	if d.serving {
		return
	}
	var next transfer
	took := d.Latency
	switch {
	case len(d.reads) > 0:
		next, d.reads = d.reads[0], d.reads[1:]
		took += transferTime(d.bytes, d.ReadBandwidth)
	case len(d.writes) > 0:
		next, d.writes = d.writes[0], d.writes[1:]
		took += transferTime(d.bytes, d.WriteBandwidth)
	default:
		return
	}
	d.serving = true
	d.busy += took
	d.agenda.plan(d.agenda.clock.now+took, func() {
		d.serving = false
		if next.job.Kind() == tiering.CascadeJob {
			d.written++
			d.has[next.job.Block(next.at).Key] = true
		} else {
			d.read++
		}
		_ = next.job.Done(next.at, nil) // an error would say that it was reported before
		d.serve()
	})
}
