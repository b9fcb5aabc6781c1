package sim

import "time"

// link carries one transfer after the other at a constant bandwidth.
type link struct {
	agenda    *agenda
	bandwidth int64 // bytes a second
	free      time.Duration
	bytes     int64
}

// carry transfers so many bytes after all that was given to the link before, and then
// calls done.
func (l *link) carry(bytes int64, done func()) {
	took := transferTime(bytes, l.bandwidth)
	l.free = max(l.free, l.agenda.clock.now) + took
	l.bytes += bytes
	l.agenda.plan(l.free, done)
}

func (l *link) channel(name string, wanted int64) Channel {
	return Channel{name, l.bandwidth, l.bytes, wanted}
}

func transferTime(bytes, bandwidth int64) time.Duration {
	return time.Duration(float64(bytes) / float64(bandwidth) * float64(time.Second))
}
