package pool

import "container/heap"

// lru is the eviction order: a list of all slots in use, oldest rank first. A slot
// gets the newest rank when it is reserved or touched; claims and releases move
// nothing.
//
// A victim is the oldest evictable slot. So that thousands of claimed blocks at
// the old end don't make every eviction walk past them again, the search leaves
// them parked behind its cursor: a parked slot has a number that grows with its
// rank, and when it becomes evictable it waits in a heap ordered by that number.
// All parked slots are older than the cursor, so the heap goes first.
type lru struct {
	links  []link // by slot; the last one is the list's root
	cursor Slot   // the oldest slot that is not parked, or root

	parked   map[Slot]uint64
	parkings uint64
	returned parkedHeap
}

type link struct{ older, newer Slot }

func (l *lru) init(n int) {
	l.links = make([]link, n+1)
	root := l.root()
	l.links[root] = link{root, root}
	l.cursor = root
	l.parked = make(map[Slot]uint64)
}

func (l *lru) root() Slot { return Slot(len(l.links) - 1) }

// pushNewest links a slot that is in no list.
func (l *lru) pushNewest(s Slot) {
	root := l.root()
	newest := l.links[root].older
	l.links[s] = link{older: newest, newer: root}
	l.links[newest].newer = s
	l.links[root].older = s
	if l.cursor == root {
		l.cursor = s
	}
}

// remove unlinks a slot that is not parked any more.
func (l *lru) remove(s Slot) {
	k := l.links[s]
	if l.cursor == s {
		l.cursor = k.newer
	}
	l.links[k.older].newer = k.newer
	l.links[k.newer].older = k.older
}

// Touch gives a slot in use the newest rank.
func (p *Pool) Touch(s Slot) {
	p.unpark(s)
	p.lru.remove(s)
	p.lru.pushNewest(s)
}

// victim returns the oldest slot that is Ready and has no claim. It does not take
// it. If there is none the answer costs nothing.
func (p *Pool) victim() (Slot, bool) {
	if p.counts.Evictable == 0 {
		return 0, false
	}
	l := &p.lru
	for len(l.returned) > 0 {
		top := l.returned[0]
		if n, ok := l.parked[top.slot]; ok && n == top.number && p.Evictable(top.slot) {
			return top.slot, true
		}
		heap.Pop(&l.returned) // touched, dropped or claimed again meanwhile
	}
	for root := l.root(); l.cursor != root; {
		s := l.cursor
		if p.Evictable(s) {
			return s, true
		}
		l.cursor = l.links[s].newer
		l.parkings++
		l.parked[s] = l.parkings
		p.blocks[s].flags |= flagParked
	}
	return 0, false
}

// Evictable reports whether a slot is Ready and has no claim.
func (p *Pool) Evictable(s Slot) bool {
	b := &p.blocks[s]
	return b.state == Ready && b.word == 0
}

// becameEvictable books a Ready slot whose last claim, or whose write, has ended.
func (p *Pool) becameEvictable(s Slot) {
	p.counts.Evictable++
	if p.blocks[s].flags&flagParked != 0 {
		p.lru.giveBack(s)
	}
}

func (l *lru) giveBack(s Slot) {
	// Claimed and released over and over, a slot would fill the heap with entries of
	// one number: rebuild it from the parked ones when it has outgrown them.
	if len(l.returned) > 2*len(l.parked)+64 {
		l.returned = l.returned[:0]
		for slot, number := range l.parked {
			l.returned = append(l.returned, parkedSlot{number, slot})
		}
		heap.Init(&l.returned)
		return
	}
	heap.Push(&l.returned, parkedSlot{l.parked[s], s})
}

// unpark forgets that a slot was passed over; what the heap has of it is dropped
// when it comes up.
func (p *Pool) unpark(s Slot) {
	if b := &p.blocks[s]; b.flags&flagParked != 0 {
		b.flags &^= flagParked
		delete(p.lru.parked, s)
	}
}

// AppendOrder appends all slots in use, oldest rank first.
func (p *Pool) AppendOrder(dst []Slot) []Slot {
	l := &p.lru
	for s := l.links[l.root()].newer; s != l.root(); s = l.links[s].newer {
		dst = append(dst, s)
	}
	return dst
}

type parkedSlot struct {
	number uint64
	slot   Slot
}

type parkedHeap []parkedSlot

func (h parkedHeap) Len() int           { return len(h) }
func (h parkedHeap) Less(i, j int) bool { return h[i].number < h[j].number }
func (h parkedHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *parkedHeap) Push(x any)        { *h = append(*h, x.(parkedSlot)) }
func (h *parkedHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
