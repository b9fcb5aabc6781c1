package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/kvoffload/kvoffload/internal/sim"
	"github.com/kvoffload/kvoffload/policy"
)

var policyNames = []string{"always", "never", "budget", "deadline", "budget+deadline"}

// withPolicy sets the policy of a name. One that is to wait without a bound has to say
// so, and doesn't take old writes for lost either.
func withPolicy(p sim.Params, name string, budget int) sim.Params {
	cut := policy.RecomputeBudget{MaxTokens: budget}
	switch name {
	case "always":
		p.Policy, p.StalledAfter = policy.Always{}, policy.NoLimit
	case "never":
		p.Policy = policy.Never{}
	case "budget":
		p.Policy, p.StalledAfter = policy.Any(policy.Always{}, cut), policy.NoLimit
	case "deadline":
		p.Policy = policy.Deadline{}
	case "budget+deadline":
		p.Policy = policy.Any(policy.Deadline{}, cut)
	}
	return p
}

// outcome is what one policy came to.
type outcome struct {
	name   string
	result sim.Result
}

func replay(ctx context.Context, o options, stdout, stderr io.Writer) error {
	workload, speed, err := load(o)
	if err != nil {
		return err
	}
	outcomes, err := compare(ctx, o, workload, newBar(stderr, len(workload)))
	if err != nil {
		return err
	}
	if o.json {
		return printJSON(stdout, o, speed, outcomes)
	}
	return printTable(stdout, o, speed, workload, outcomes)
}

// compare runs every policy, as many at a time as there are processors.
func compare(ctx context.Context, o options, workload []sim.Request, bar *bar) ([]outcome, error) {
	names := strings.Split(o.policies, ",")
	outcomes := make([]outcome, len(names))
	errs := make([]error, len(names))
	places := make(chan struct{}, runtime.GOMAXPROCS(0))
	var group sync.WaitGroup
	for i, name := range names {
		places <- struct{}{}
		group.Go(func() {
			defer func() { <-places }()
			part := bar.part(len(names))
			p := withPolicy(sim.Presets[o.preset](), name, o.budget)
			result, err := sim.Run(ctx, p, workload, part)
			part(len(workload))
			outcomes[i], errs[i] = outcome{name, result}, err
		})
	}
	group.Wait()
	bar.end()
	for i, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("policy %s: %w", names[i], err)
		}
	}
	return outcomes, nil
}

// bar shows on a terminal how far a long comparison is; elsewhere it shows nothing.
type bar struct {
	out   io.Writer
	total int
	done  atomic.Int64
	mu    sync.Mutex
	shown int
}

// longRun is how many requests make a run long enough for a bar.
const longRun = 5000

func newBar(out io.Writer, requests int) *bar {
	b := &bar{total: requests, shown: -1}
	if file, ok := out.(*os.File); ok && requests >= longRun {
		if info, err := file.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			b.out = out
		}
	}
	return b
}

// part returns what one of n policies reports its progress to.
func (b *bar) part(n int) func(done int) {
	last := 0
	return func(done int) {
		all := b.done.Add(int64(done - last))
		last = done
		if b.out != nil {
			b.show(int(100 * all / int64(b.total*n)))
		}
	}
}

func (b *bar) show(percent int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if percent <= b.shown {
		return
	}
	b.shown = percent
	fmt.Fprintf(b.out, "\r[%-50s] %3d %%", strings.Repeat("=", percent/2), percent)
}

func (b *bar) end() {
	if b.out != nil {
		fmt.Fprintf(b.out, "\r%60s\r", "")
	}
}
