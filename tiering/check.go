package tiering

import (
	"github.com/kvoffload/kvoffload/internal/invariants"
)

// check walks all books where invariants are checked, unless they are long. The lock
// is held. A broken invariant is a bug of this package, and the one thing it panics
// for, in tests.
func (m *Manager) check() {
	if !invariants.Enabled || m.pool.Len() > 1024 {
		return
	}
	if err := m.pool.Check(); err != nil {
		panic("tiering: invariant: " + err.Error())
	}
}
