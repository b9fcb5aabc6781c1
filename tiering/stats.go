package tiering

// Stats are counts since the Manager was made, and what the primary holds now.
type Stats struct {
	// Blocks is the primary's size. Free + Pending + Resident + Draining is that.
	Blocks int
	// Free blocks hold nothing.
	Free int
	// Pending blocks are being written.
	Pending int
	// Resident blocks are readable; Evictable of them are claimed by nobody, the
	// others, Claimed, are.
	Resident, Evictable, Claimed int
	// Draining blocks were taken out by Reset while being written or claimed.
	Draining int
	// Promoting blocks are on their way from a secondary, or have arrived and are
	// held until the request that asked for them reads them.
	Promoting int

	// Requests is how many requests have begun and not ended; Parked of them wait.
	Requests, Parked int
	// Jobs is how many stores, promotions and cascades are in flight.
	Jobs int

	// Plans counts answered plans, Lookups the blocks asked for.
	Plans, Lookups uint64
	// Evictions counts blocks that left to make room.
	Evictions uint64
	// Refusals counts blocks that found no room: of stores and of promotions.
	StoreRefusals, PromotionRefusals uint64
	// GivenUp counts the blocks that requests gave up on.
	GivenUp uint64
	// Promoted, Stored and Cascaded count blocks that were written; the Failed
	// ones those that were not.
	Promoted, PromotionsFailed uint64
	Stored, StoresFailed       uint64
	Cascaded, CascadesFailed   uint64
	// Declined counts jobs that a tier did not take.
	Declined uint64
	// Withdrawn counts answers of a tier that were taken for a miss, since a load
	// of the same block had failed shortly before.
	Withdrawn uint64
	// Late counts completions that changed nothing.
	Late uint64
	// Faults counts contained panics and senseless answers of user code.
	Faults uint64
	// Resets counts calls of Reset.
	Resets uint64
}

// Stats returns the counts of this moment.
func (m *Manager) Stats() Stats {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.stats
	c := m.pool.Counts()
	s.Blocks = m.pool.Len()
	s.Free, s.Pending, s.Resident, s.Draining = c.Free, c.Pending, c.Ready, c.Orphan
	s.Evictable, s.Claimed = c.Evictable, c.Ready-c.Evictable
	s.Promoting = m.promoting
	s.Parked = len(m.parked)
	s.Jobs = m.jobs.live
	return s
}
