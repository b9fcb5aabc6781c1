package tieringtest

import (
	"fmt"
	"slices"
	"sync"

	"github.com/kvoffload/kvoffload/lookup"
	"github.com/kvoffload/kvoffload/tiering"
)

// Tier is a scripted tiering.Secondary. It does nothing by itself: the test says which
// blocks it has, and ends its jobs when it likes, unless it is told to end them at
// once. It is safe for concurrent use.
type Tier struct {
	name string

	mu      sync.Mutex
	answers map[lookup.Key]lookup.Result
	other   lookup.Result
	changed func()
	fail    error
	auto    bool
	panics  map[string]any
	loads   []*tiering.Job
	stores  []*tiering.Job
	asked   int
	steps   int
}

var (
	_ tiering.Secondary = (*Tier)(nil)
	_ tiering.Notifier  = (*Tier)(nil)
	_ tiering.Stepper   = (*Tier)(nil)
)

// NewTier makes a tier that has nothing.
func NewTier(name string) *Tier {
	return &Tier{name: name, answers: make(map[lookup.Key]lookup.Result), panics: make(map[string]any)}
}

// Answer sets what Lookup says of keys, from now on. It may be nonsense.
func (t *Tier) Answer(r lookup.Result, keys ...lookup.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, k := range keys {
		t.answers[k] = r
	}
}

// AnswerOthers sets what Lookup says of all keys that Answer was not called for.
func (t *Tier) AnswerOthers(r lookup.Result) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.other = r
}

// EndJobsAtOnce makes every job end with success before the call that hands it over
// returns.
func (t *Tier) EndJobsAtOnce(on bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.auto = on
}

// Refuse makes Load and Store return err, until it is called with nil.
func (t *Tier) Refuse(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fail = err
}

// PanicIn makes a method ("Lookup", "Load", "Store", "EndStep") panic with a value,
// until it is called with nil.
func (t *Tier) PanicIn(method string, value any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.panics[method] = value
}

// Notify tells the Manager that answers have changed.
func (t *Tier) Notify() {
	t.mu.Lock()
	changed := t.changed
	t.mu.Unlock()
	if changed != nil {
		changed()
	}
}

// TakeLoads returns the promotions handed over since the last call, in order.
func (t *Tier) TakeLoads() []*tiering.Job { return t.take(&t.loads) }

// TakeStores returns the cascades handed over since the last call, in order.
func (t *Tier) TakeStores() []*tiering.Job { return t.take(&t.stores) }

func (t *Tier) take(list *[]*tiering.Job) []*tiering.Job {
	t.mu.Lock()
	defer t.mu.Unlock()
	jobs := *list
	*list = nil
	return jobs
}

// Asked returns how often Lookup was called.
func (t *Tier) Asked() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.asked
}

// Steps returns how often EndStep was called.
func (t *Tier) Steps() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.steps
}

// Name implements tiering.Secondary.
func (t *Tier) Name() string { return t.name }

// Attach implements tiering.Notifier.
func (t *Tier) Attach(changed func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changed = changed
}

// Lookup implements tiering.Secondary.
func (t *Tier) Lookup(key lookup.Key) lookup.Result {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked++
	t.panicIf("Lookup")
	if r, ok := t.answers[key]; ok {
		return r
	}
	return t.other
}

// Load implements tiering.Secondary.
func (t *Tier) Load(job *tiering.Job) error { return t.accepted("Load", &t.loads, job) }

// Store implements tiering.Secondary.
func (t *Tier) Store(job *tiering.Job) error { return t.accepted("Store", &t.stores, job) }

// EndStep implements tiering.Stepper.
func (t *Tier) EndStep() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.steps++
	t.panicIf("EndStep")
}

func (t *Tier) accepted(method string, list *[]*tiering.Job, job *tiering.Job) error {
	auto, err := t.accept(method, list, job)
	if err == nil && auto {
		return job.Finish(nil)
	}
	return err
}

func (t *Tier) accept(method string, list *[]*tiering.Job, job *tiering.Job) (auto bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.panicIf(method)
	if t.fail != nil {
		return false, t.fail
	}
	if !t.auto {
		*list = append(*list, job)
		return false, nil
	}
	if job.Kind() == tiering.CascadeJob {
		for i := range job.Len() {
			t.answers[job.Block(i).Key] = lookup.Hit
		}
	}
	return true, nil
}

func (t *Tier) panicIf(method string) {
	if v := t.panics[method]; v != nil {
		panic(v)
	}
}

// Recorder writes down events, as text, in the order in which they came.
type Recorder struct {
	mu   sync.Mutex
	list []any
}

// Events returns the hooks to put into tiering.Options. Planned is left out unless
// plans is true: there is one for every question.
func (r *Recorder) Events(plans bool) tiering.Events {
	e := tiering.Events{
		WaitEnded: func(e tiering.WaitEvent) { r.add(e) },
		GaveUp:    func(e tiering.GaveUpEvent) { r.add(e) },
		JobEnded:  func(e tiering.JobEvent) { r.add(e) },
		Declined:  func(e tiering.JobEvent) { r.add(Declined(e)) },
		Evicted:   func(e tiering.EvictedEvent) { r.add(e) },
		Refused:   func(e tiering.RefusedEvent) { r.add(e) },
		Late:      func(e tiering.LateEvent) { r.add(e) },
		Panicked:  func(e tiering.PanicEvent) { r.add(e) },
	}
	if plans {
		e.Planned = func(e tiering.PlanEvent) { r.add(e) }
	}
	return e
}

// Declined is a tiering.JobEvent that came through Events.Declined.
type Declined tiering.JobEvent

func (r *Recorder) add(e any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, e)
}

// All returns the events so far.
func (r *Recorder) All() []any {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.list)
}

// Of returns the events of one type so far, in order.
func Of[E any](r *Recorder) []E {
	var list []E
	for _, e := range r.All() {
		if e, ok := e.(E); ok {
			list = append(list, e)
		}
	}
	return list
}

// String lists the events, one a line.
func (r *Recorder) String() string {
	text := ""
	for _, e := range r.All() {
		text += fmt.Sprintf("%T%+v\n", e, e)
	}
	return text
}
