package sim

import "time"

// link carries one transfer after the other at a constant bandwidth.
type link struct {
	agenda    *agenda
	bandwidth int64 // bytes a second
	free      time.Duration
	busy      time.Duration
	bytes     int64
}

// carry transfers so many bytes after all that was given to the link before, and then
// calls done.
func (l *link) carry(bytes int, done func()) {
	took := transferTime(bytes, l.bandwidth)
	l.free = max(l.free, l.agenda.clock.now) + took
	l.busy += took
	l.bytes += int64(bytes)
	l.agenda.plan(l.free, done)
}

func transferTime(bytes int, bandwidth int64) time.Duration {
	return time.Duration(float64(bytes) / float64(bandwidth) * float64(time.Second))
}
