package tiering

import "github.com/kvoffload/kvoffload/lookup"

// Secondary is a tier behind the primary: a directory, Redis, a peer. Its methods
// are called without any lock of the Manager held, from the goroutine that calls
// Plan, Replan or EndStep, and, as soon as several goroutines do that, concurrently.
// None may block. A panic in one is contained and counts as Miss or as a failure.
type Secondary interface {
	// Name identifies the tier in options, events and metrics. It must be unique
	// within a Manager, not empty, and constant.
	Name() string
	// Lookup says whether the tier has a block, from what it knows now: Hit, Miss,
	// or Retry while it finds out. Anything else counts as Miss. Hit is no
	// promise: a load that fails costs a recompute.
	Lookup(key lookup.Key) lookup.Result
	// Load starts to copy the job's blocks from the tier into the primary. It
	// returns at once and reports through the job, from any goroutine, even before
	// it returns. An error means that nothing was started and all blocks failed.
	Load(job *Job) error
	// Store starts to copy the job's blocks from the primary into the tier, which
	// are readable until the job reports them done. An error means that nothing
	// was started; ErrDeclined that the tier is saturated.
	Store(job *Job) error
}

// Notifier is a Secondary that can say when its answers may have changed, so that
// requests waiting on a Retry need not poll. Attach is called once, by New.
type Notifier interface {
	// Attach hands over the function to call when an answer that was Retry may
	// have become Hit or Miss. It is cheap, never blocks, and may be called from
	// any goroutine, also after the Manager is closed.
	Attach(changed func())
}

// Stepper is a Secondary that batches: EndStep is called at the end of every
// Manager.EndStep, after the jobs of the step were handed over.
type Stepper interface {
	EndStep()
}
