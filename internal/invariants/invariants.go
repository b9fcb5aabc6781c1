// Package invariants says whether expensive checks of internal state are on: in
// builds with the tag "invariants", and in builds with the race detector.
package invariants
