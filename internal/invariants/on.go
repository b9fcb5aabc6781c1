//go:build invariants || race

package invariants

// Enabled is whether invariants are checked.
const Enabled = true
