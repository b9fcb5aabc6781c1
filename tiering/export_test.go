package tiering

import "github.com/kvoffload/kvoffload/lookup"

// Change makes a request that asks again look for what has changed.
func Change(m *Manager) {
	m.mu.Lock()
	m.changes++
	m.mu.Unlock()
}

// Waiters returns how many requests a job would wake.
func Waiters(j *Job) int {
	j.m.mu.Lock()
	defer j.m.mu.Unlock()
	return len(j.waiters)
}

// AskedOf returns how many blocks of the last scan had an answer.
func AskedOf(r *Request, answer lookup.Result) int { return r.scan.counts[answer] }

// LookedUp returns how many blocks the last scan looked up in the primary, rather than
// remembered.
func LookedUp(r *Request) int { return r.scan.lookedUp }

// Open reports whether block i of a job has not been reported.
func Open(j *Job, i int) bool {
	j.m.mu.Lock()
	defer j.m.mu.Unlock()
	return j.open[i]
}

// Queued returns how many cascades wait for EndStep.
func Queued(m *Manager) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.cascades)
}
