// Command replay plays a workload through the library in a model of an inference
// engine, and prints what each waiting policy costs.
//
//	go run ./examples/replay                        # a generated workload
//	go run ./examples/replay -trace FILE -preset backlog
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/kvoffload/kvoffload/internal/sim"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// options are the command's flags.
type options struct {
	trace    string
	preset   string
	policies string
	speed    float64
	limit    int
	seed     uint64
	requests int
	budget   int
	spread   bool
	json     bool
}

// Slower than this an hour becomes half a century; faster, all arrive at once.
const minSpeed, maxSpeed = 0.001, 1e6

const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

// errUsage is wrapped by what is wrong with the command line or the input.
var errUsage = errors.New("replay")

// run is the command. It returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err == nil {
		err = replay(ctx, o, stdout, stderr)
	}
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errUsage):
		fmt.Fprintln(stderr, err)
		return exitUsage
	}
	fmt.Fprintln(stderr, "replay:", err)
	return exitError
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("replay", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.trace, "trace", "", "trace `FILE` in Mooncake's JSONL format; default a generated workload")
	f.StringVar(&o.preset, "preset", "tiered", "regime: "+strings.Join(presetNames(), ", "))
	f.StringVar(&o.policies, "policies", strings.Join(policyNames, ","), "policies to compare")
	f.Float64Var(&o.speed, "speed", 0, "how many times as fast requests arrive; 0: so that prefill takes 0.7 of the device")
	f.IntVar(&o.limit, "limit", 0, "stop after so many requests of the trace; 0: all")
	f.Uint64Var(&o.seed, "seed", 1, "seed of the generated workload")
	f.IntVar(&o.requests, "requests", 4000, "requests in the generated workload")
	f.IntVar(&o.budget, "budget", 2048, "tokens that the budget policies recompute rather than wait for")
	f.BoolVar(&o.spread, "spread", false, "let requests of the same time arrive evenly until the next ones, where a trace's clock is coarse")
	f.BoolVar(&o.json, "json", false, "print JSON")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return o, err
		}
		return o, fmt.Errorf("%w: %w", errUsage, err)
	}
	return o, o.check(f.Args())
}

func (o options) check(rest []string) error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if len(rest) > 0 {
		fault("unexpected argument %q", rest[0])
	}
	if o.speed != 0 && !(o.speed >= minSpeed && o.speed <= maxSpeed) {
		fault("-speed is %v, want %v to %v, or 0 for the default", o.speed, minSpeed, maxSpeed)
	}
	if o.limit < 0 {
		fault("-limit is %d, want 0 or more", o.limit)
	}
	if o.requests < 1 || o.requests > 1_000_000 {
		fault("-requests is %d, want 1 to 1000000", o.requests)
	}
	if o.budget < 0 {
		fault("-budget is %d, want 0 or more", o.budget)
	}
	if sim.Presets[o.preset] == nil {
		fault("-preset %q is not known, there are %s", o.preset, strings.Join(presetNames(), ", "))
	}
	for _, name := range strings.Split(o.policies, ",") {
		if !slices.Contains(policyNames, name) {
			fault("policy %q is not known, there are %s", name, strings.Join(policyNames, ", "))
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %w", errUsage, errors.Join(faults...))
}

func presetNames() []string {
	var names []string
	for name := range sim.Presets {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// load reads or generates the workload, and brings it to speed.
func load(o options) (workload []sim.Request, speed float64, err error) {
	if o.trace == "" {
		workload = sim.Generate(o.seed, o.requests)
	} else if workload, err = readTrace(o.trace, o.limit); err != nil {
		return nil, 0, err
	}
	if o.limit > 0 && len(workload) > o.limit {
		workload = workload[:o.limit]
	}
	if o.spread {
		workload = sim.Spread(workload)
	}
	if err := sim.Presets[o.preset]().Fits(workload); err != nil {
		return nil, 0, fmt.Errorf("%w: %w", errUsage, err)
	}
	if speed = o.speed; speed == 0 {
		asked, _ := sim.Demand(workload)
		speed = targetLoad * float64(sim.Presets[o.preset]().PrefillTokens) / asked
	}
	return sim.Scale(workload, speed), speed, nil
}

// targetLoad is the share of the device that prefill takes by default if nothing is
// reused, so that no policy is compared on an engine that can't keep up.
const targetLoad = 0.7

func readTrace(path string, limit int) ([]sim.Request, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUsage, err)
	}
	defer file.Close()
	workload, err := sim.ReadTrace(file, limit)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", errUsage, path, err)
	}
	return workload, nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
