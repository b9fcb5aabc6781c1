// Package arrows holds the test that keeps the packages' dependencies as designed:
//
//	lookup <- policy <- tiering <- metrics
//
// with no arrow back, and each outside dependency where it belongs.
package arrows
