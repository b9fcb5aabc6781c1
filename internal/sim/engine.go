package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/kvoffload/kvoffload/lookup"
	"github.com/kvoffload/kvoffload/tiering"
)

// engine is one run of the model.
type engine struct {
	Params
	clock   *virtualClock
	agenda  agenda
	manager *tiering.Manager
	device  *device
	loads   link
	stores  link
	staging link // to the write buffer, where there is one
	staged  int  // blocks in it
	disk    *disk

	arrivals []Request
	waiting  []*job // in the order of arrival, the parked ones among them
	running  []*job // prefilling or decoding
	loading  int
	byHandle map[*tiering.Request]*job
	ready    []*tiering.Request
	result   Result
}

// job is one request in the engine.
type job struct {
	Request
	handle *tiering.Request
	ids    []uint64 // of the blocks that have keys
	keys   []lookup.Key
	blocks int  // on the device, from admission until nothing reads them
	over   bool // all output is there
	parked bool // until it is worth asking again
	asked  bool
	told   bool // to wait, ever
	since  time.Duration
	waited time.Duration // from being told to wait until it was worth asking again

	onDevice, loaded int // tokens that need not be computed
	computed         int // prompt tokens that are on the device
	filled           int // blocks of ids that are on the device
	prefilled        int // tokens computed, counted where they are
	stored           int // blocks of ids that the host has or was handed
	storing          int // blocks being read from the device by a store
	generated        int
}

// Run plays a workload, which is sorted by arrival, through an engine. progress, if not
// nil, is called now and then with how many requests have ended.
func Run(ctx context.Context, p Params, workload []Request, progress func(done int)) (Result, error) {
	if err := p.Validate(); err != nil {
		return Result{}, err
	}
	e, err := newEngine(p, workload)
	if err != nil {
		return Result{}, err
	}
	for step := 0; len(e.arrivals)+len(e.waiting)+len(e.running)+e.loading > 0; step++ {
		if err := e.step(); err != nil {
			return Result{}, err
		}
		if step%1024 == 0 {
			if err := ctx.Err(); err != nil {
				return Result{}, err
			}
			if progress != nil {
				progress(len(e.result.TTFT))
			}
		}
	}
	e.result.Served = e.clock.now
	e.drain()
	e.finish()
	return e.result, e.result.Check()
}

func newEngine(p Params, workload []Request) (*engine, error) {
	e := &engine{Params: p, clock: newClock(), device: newDevice(p.DeviceBlocks), arrivals: workload,
		byHandle: make(map[*tiering.Request]*job)}
	if err := p.Fits(workload); err != nil {
		return nil, err
	}
	e.result.Requests = len(workload)
	e.agenda.clock = e.clock
	e.loads = link{agenda: &e.agenda, bandwidth: p.LoadBandwidth}
	e.stores = link{agenda: &e.agenda, bandwidth: p.StoreBandwidth}
	e.staging = link{agenda: &e.agenda, bandwidth: p.LoadBandwidth}
	o := tiering.Options{
		Layout:  lookup.Layout{Groups: []lookup.Group{{TokensPerBlock: TokensPerBlock}}},
		Primary: tiering.PrimaryOptions{Blocks: p.PrimaryBlocks},
		Policy:  p.Policy,
		Clock:   e.clock,

		StalledAfter: p.StalledAfter,
		Events: tiering.Events{
			Planned: e.planned,
			GaveUp:  func(tiering.GaveUpEvent) { e.result.GivenUpTokens += TokensPerBlock },
		},
	}
	if p.Disk != nil {
		e.disk = newDisk(*p.Disk, &e.agenda, p.blockBytes())
		o.Secondaries = []tiering.Secondary{e.disk}
	}
	m, err := tiering.New(o)
	e.manager = m
	return e, err
}

func (e *engine) planned(p tiering.PlanEvent) {
	e.result.Plans++
	e.result.Lookups += p.Plan.Asked
	if p.Plan.Action != lookup.Wait {
		e.result.GivenUpTokens += p.Plan.Cut.Tokens
	}
}

// step is one iteration of the scheduler: let in who can be let in, compute, and let
// that time pass. With nothing to compute it sleeps until something happens.
func (e *engine) step() error {
	e.arrive()
	e.wake()
	if err := e.schedule(); err != nil {
		return err
	}
	e.manager.EndStep()
	took, work := e.compute()
	if took == 0 {
		return e.sleep()
	}
	e.result.DeviceBusy += took
	e.agenda.advance(e.clock.now + took)
	e.account(work)
	return nil
}

func (e *engine) arrive() {
	for len(e.arrivals) > 0 && e.arrivals[0].Arrival <= e.clock.now {
		r := e.arrivals[0]
		e.arrivals = e.arrivals[1:]
		j := &job{Request: r, handle: e.manager.Begin(tiering.RequestOptions{})}
		j.ids = r.Blocks[:min(len(r.Blocks), (r.Input-1)/TokensPerBlock)]
		j.keys = make([]lookup.Key, len(j.ids))
		for i, id := range j.ids {
			j.keys[i] = lookup.KeyFrom64(id, 0)
		}
		e.byHandle[j.handle] = j
		e.waiting = append(e.waiting, j)
	}
}

// wake takes those out of their sleep who are worth asking again.
func (e *engine) wake() {
	e.ready = e.manager.Ready(e.ready[:0])
	for _, handle := range e.ready {
		j := e.byHandle[handle]
		if j.parked {
			j.parked = false
			j.waited += e.clock.now - j.since
		}
	}
}

// schedule asks for every waiting request that could run, in the order of arrival. Who
// has to wait does not hold up those behind.
func (e *engine) schedule() error {
	still := e.waiting[:0]
	full := false
	for _, j := range e.waiting {
		if full || j.parked || !e.canAdmit(j) {
			full = full || !j.parked
			still = append(still, j)
			continue
		}
		if err := e.ask(j); err != nil {
			return err
		}
		if j.parked {
			still = append(still, j)
		}
	}
	clear(e.waiting[len(still):])
	e.waiting = still
	return nil
}

func (e *engine) canAdmit(j *job) bool {
	return len(e.running)+e.loading < e.MaxRunning &&
		e.device.fits(j.ids, e.device.prefix(j.ids), blocksFor(j.Input+j.Output))
}

// ask plans for a request and starts what the plan says.
func (e *engine) ask(j *job) error {
	hits := e.device.prefix(j.ids)
	q := lookup.Query{Keys: [][]lookup.Key{j.keys}, Tokens: j.Input, Computed: hits * TokensPerBlock}
	var p tiering.Plan
	if j.asked && q.Computed == j.onDevice {
		p = j.handle.Replan()
	} else {
		p = j.handle.Plan(q)
	}
	j.asked, j.onDevice = true, q.Computed
	if p.Err != nil {
		return p.Err
	}
	if p.Action == lookup.Wait {
		j.parked, j.told, j.since = true, true, e.clock.now
		return nil
	}
	j.blocks = blocksFor(j.Input + j.Output)
	e.device.admit(j.ids, hits, j.blocks)
	j.filled, j.stored = hits, hits
	j.computed = q.Computed
	if p.Action == lookup.Load {
		e.load(j, p)
		return nil
	}
	e.running = append(e.running, j)
	return nil
}

// load copies what the plan says to the device, and then lets the request run.
func (e *engine) load(j *job, p tiering.Plan) {
	e.loading++
	_, blocks := p.Claim.Group(0)
	e.loads.carry(int64(len(blocks))*e.blockBytes(), func() {
		e.loading--
		if err := p.Claim.Release(); err != nil {
			e.result.fault(err)
		}
		j.loaded = p.Tokens
		e.advance(j, p.Tokens)
		j.stored = j.filled // the host has them
		e.running = append(e.running, j)
	})
}

// advance books prompt tokens that are on the device now.
func (e *engine) advance(j *job, tokens int) {
	j.computed += tokens
	for j.filled < len(j.ids) && (j.filled+1)*TokensPerBlock <= j.computed {
		e.device.fill(j.ids[j.filled])
		j.filled++
	}
}

// chunk is what a step does for one request: prompt tokens, or one output token.
type chunk struct {
	job    *job
	tokens int // of the prompt; 0: one output token
}

// compute chooses the work of a step and says how long it takes.
func (e *engine) compute() (took time.Duration, work []chunk) {
	left, decodes := e.StepTokens, false
	for _, j := range e.running {
		if j.computed >= j.Input {
			decodes = true
			work = append(work, chunk{j, 0})
			continue
		}
		if n := min(left, j.Input-j.computed); n > 0 {
			left -= n
			work = append(work, chunk{j, n})
		}
	}
	prefill := e.StepTokens - left
	took = time.Duration(float64(prefill) / float64(e.PrefillTokens) * float64(time.Second))
	if decodes {
		took = max(took, e.DecodeStep)
	}
	return took, work
}

// account books what a step has done, at its end.
func (e *engine) account(work []chunk) {
	ended := false
	for _, c := range work {
		j := c.job
		if c.tokens > 0 {
			j.prefilled += c.tokens
			e.advance(j, c.tokens)
			e.store(j)
			if j.computed < j.Input {
				continue
			}
			// The last chunk of a prompt gives the first output token.
			e.result.TTFT = append(e.result.TTFT, e.clock.now-j.Arrival)
		}
		if j.generated++; j.generated >= j.Output {
			e.end(j)
			ended = true
		}
	}
	if !ended {
		return
	}
	still := e.running[:0]
	for _, j := range e.running {
		if !j.over {
			still = append(still, j)
		}
	}
	clear(e.running[len(still):])
	e.running = still
}

// sleep lets time pass until something happens: an arrival, the end of a transfer, or
// the bound of a wait.
func (e *engine) sleep() error {
	to, ok := e.agenda.next()
	if len(e.arrivals) > 0 && (!ok || e.arrivals[0].Arrival < to) {
		to, ok = e.arrivals[0].Arrival, true
	}
	if d, bounded := e.manager.NextWake(); bounded && (!ok || e.clock.now+d < to) {
		to, ok = e.clock.now+d, true
	}
	if !ok {
		return fmt.Errorf("sim: stuck at %v with %d waiting requests", e.clock.now, len(e.waiting))
	}
	e.agenda.advance(to)
	return nil
}

// drain lets the transfers end that outlast the last request.
func (e *engine) drain() {
	for {
		e.manager.EndStep()
		at, ok := e.agenda.next()
		if !ok {
			return
		}
		e.agenda.advance(at)
	}
}

func blocksFor(tokens int) int { return (tokens + TokensPerBlock - 1) / TokensPerBlock }
