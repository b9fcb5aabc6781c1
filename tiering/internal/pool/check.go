package pool

import "fmt"

// Check walks the whole pool and returns the first rule that does not hold, for
// tests: every slot is in exactly one state and counted in it, no key is in two slots,
// every key in use is found, and the order holds exactly the slots in use.
func (p *Pool) Check() error {
	var c Counts
	for i := range p.blocks {
		s, b := Slot(i), &p.blocks[i]
		switch b.state {
		case Free:
			c.Free++
		case Orphan:
			c.Orphan++
			if b.flags&flagWriting == 0 && b.word == 0 {
				return fmt.Errorf("slot %d is an orphan that nothing uses", s)
			}
		case Pending, Ready:
			if b.state == Pending {
				c.Pending++
			} else {
				c.Ready++
				if b.word == 0 {
					c.Evictable++
				}
			}
			key := p.Key(s)
			if found, _ := p.Find(&key); found != s {
				return fmt.Errorf("slot %d holds %v, which is found in slot %d", s, key, found)
			}
		default:
			return fmt.Errorf("slot %d is in state %d", s, b.state)
		}
	}
	if c != p.counts {
		return fmt.Errorf("counted %+v, booked %+v", c, p.counts)
	}
	if err := p.checkFree(); err != nil {
		return err
	}
	return p.checkOrder()
}

func (p *Pool) checkFree() error {
	s := p.free
	for range p.counts.Free {
		if int(s) >= len(p.blocks) || p.blocks[s].state != Free {
			return fmt.Errorf("free chain reaches slot %d, which is not free", s)
		}
		s = Slot(p.blocks[s].word)
	}
	n := 0
	for _, e := range p.table.entries {
		if e != 0 {
			n++
		}
	}
	if used := p.counts.Pending + p.counts.Ready; n != used {
		return fmt.Errorf("table has %d entries for %d slots in use", n, used)
	}
	return nil
}

func (p *Pool) checkOrder() error {
	order := p.AppendOrder(nil)
	if used := p.counts.Pending + p.counts.Ready; len(order) != used {
		return fmt.Errorf("order has %d slots, %d are in use", len(order), used)
	}
	behind := true // of the cursor
	parked := 0
	for _, s := range order {
		if s == p.lru.cursor {
			behind = false
		}
		isParked := p.blocks[s].flags&flagParked != 0
		if isParked != behind {
			return fmt.Errorf("slot %d: parked %v, behind the cursor %v", s, isParked, behind)
		}
		if isParked {
			parked++
			if p.lru.parked[s] == 0 {
				return fmt.Errorf("slot %d is parked without a number", s)
			}
		}
	}
	if parked != len(p.lru.parked) {
		return fmt.Errorf("%d slots are parked, %d numbers known", parked, len(p.lru.parked))
	}
	return nil
}
