// Package conformance runs files of test vectors against the scans of package
// lookup and what is built on them. A vector is an input with the right answer; the
// files come from outside, so that the code is not its own judge.
//
//	KVOFFLOAD_VECTORS=<folder> go test -count=1 -v ./internal/conformance
//
// runs every .jsonl file of a folder and prints one line for each:
//
//	vectors prefix.jsonl: 2118 cases, 2118 passed
//
// A relative folder is taken from the project's root (where go.mod is), or, if there
// is none, from this package's folder, which is where go test runs. Without the
// variable it is ../shared/vectors seen from the root, if that exists. The small
// files in testdata are run in any case.
//
// # Files
//
// One JSON object a line. The first line is {"doc": ...} and is skipped. The kind of
// a file is what its name begins with, up to the first character that is no small
// letter: prefix.jsonl and prefix-small.jsonl are both of kind prefix. A file of an
// unknown kind, a line that is no JSON, or a case without an expected answer is a
// failure, never skipped: a vector that isn't run must not look like one that
// passed. A kind that is known but has no runner is reported as skipped.
package conformance
