// Package metrics is a Prometheus collector of what a tiering.Manager does.
//
// Put [Collector.Events] into tiering.Options and register the Collector with a
// registry of yours; to have hooks of your own too, set them in the same struct and call
// the collector's from them. All names begin with kvoffload_. Two Managers in one
// registry need different Options.ConstLabels.
//
// It promises bounded label values (a value that is not known becomes "other"), that a
// deferred request's questions count once, when they are answered for good, and that
// booking a plan allocates nothing. A Collector is safe for concurrent use.
package metrics
