// Package metrics is a Prometheus collector of what a tiering.Manager does.
//
// Put [Collector.Events] into tiering.Options and register the Collector with a
// registry of yours. All names begin with kvoffload_. Two Managers in one registry need
// different Options.ConstLabels.
//
// To have hooks of your own too, take the struct that Events returns and replace a hook
// by one of yours that calls the collector's first; the example of [Collector.Events]
// shows it. The collector's hooks call nothing back and may be called under a lock.
//
// It promises bounded label values (a value that is not known becomes "other"), that a
// deferred request's questions count once, when they are answered for good, and that
// booking a plan allocates nothing. A Collector is safe for concurrent use.
package metrics
