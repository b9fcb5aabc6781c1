package policy

import (
	"time"

	"github.com/kvoffload/kvoffload/lookup"
)

// anchors is what one request remembers of the keys that it has seen unresolved. It
// only grows until it is reset. The zero value is empty.
type anchors struct {
	byKey   map[lookup.Key]anchor
	waiting int // how many have since
	most    int // how many keys there have been at once
}

type anchor struct {
	since   time.Duration // when the key was first seen unresolved
	waiting bool          // since is set
	givenUp bool
	reason  lookup.Reason // why it was given up
}

// keepAnchors is how many keys a map may have had to be kept when it is reset, some
// 400 KB. If every map were, a pool of request handles would pile up memory after
// requests that waited for very long prompts, and clear it all each time.
const keepAnchors = 4096

// find returns the anchor of an unresolved key, and starts one at now where there
// is none.
func (a *anchors) find(k *lookup.Key, now time.Duration) anchor {
	e := a.byKey[*k]
	if e.givenUp || e.waiting {
		return e
	}
	e.waiting, e.since = true, now
	a.put(k, e)
	a.waiting++
	return e
}

// giveUp ends the wait for a key for good.
func (a *anchors) giveUp(k *lookup.Key, why lookup.Reason) {
	a.put(k, anchor{givenUp: true, reason: why})
	a.waiting--
}

// hit forgets since when a key has been waited for. What was given up stays so.
func (a *anchors) hit(k *lookup.Key) {
	if a.waiting == 0 {
		return
	}
	if e := a.byKey[*k]; e.waiting {
		delete(a.byKey, *k)
		a.waiting--
	}
}

func (a *anchors) put(k *lookup.Key, e anchor) {
	if a.byKey == nil {
		a.byKey = make(map[lookup.Key]anchor)
	}
	a.byKey[*k] = e
	a.most = max(a.most, len(a.byKey))
}

func (a *anchors) reset() {
	if a.most > keepAnchors {
		*a = anchors{}
		return
	}
	clear(a.byKey)
	a.waiting = 0
}
