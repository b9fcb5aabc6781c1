// Package tieringtest helps to test code that uses package tiering: a [Tier] that
// answers as it is told, late, partly, twice or not at all, and a [Recorder] of
// events. It is for tests; nothing outside tests and examples should import it.
package tieringtest
