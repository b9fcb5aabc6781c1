package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/kvoffload/kvoffload/internal/sim"
	"github.com/kvoffload/kvoffload/policy"
)

func printTable(out io.Writer, o options, speed float64, workload []sim.Request, outcomes []outcome) error {
	p := sim.Presets[o.preset]()
	source := fmt.Sprintf("generated, seed %d", o.seed)
	if o.trace != "" {
		source = "trace"
	}
	asked, fresh := sim.Demand(workload)
	fmt.Fprintf(out, "workload  %s: %d requests, arrivals x %.3g: %.0f prompt tokens/s (%.2f of the device's prefill), %.0f after ideal reuse\n",
		source, len(workload), speed, asked, asked/float64(p.PrefillTokens), fresh)
	if together := sim.Together(workload); together >= coarse && !o.spread {
		fmt.Fprintf(out, "          %.1f requests have the same time, on average, and arrive together; -spread takes that for a coarse clock\n", together)
	}
	fmt.Fprintf(out, "engine    preset %s: prefill %d tokens/s, device %d blocks of %d tokens, primary %d, load %s, store %s",
		o.preset, p.PrefillTokens, p.DeviceBlocks, sim.TokensPerBlock, p.PrimaryBlocks, rate(p.LoadBandwidth), rate(p.StoreBandwidth))
	if p.StagingBlocks > 0 {
		fmt.Fprintf(out, " from a buffer of %d", p.StagingBlocks)
	}
	if d := p.Disk; d != nil {
		fmt.Fprintf(out, ", disk %s read, %s write, %v", rate(d.ReadBandwidth), rate(d.WriteBandwidth), d.Latency)
	}
	fmt.Fprintf(out, "\npolicies  budget %d tokens; deadlines %v a key, %v for retry, %v a request, and writes older than %v count as lost\n\n",
		o.budget, policy.DefaultPerKey, policy.DefaultPerRetry, policy.DefaultPerRequest, policy.DefaultStalledAfter)

	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "policy\tTTFT mean\tp50\tp90\tp99\twaited\tlongest wait\tloaded\trecomputed\tgiven up\tdevice busy\t")
	for _, c := range outcomes {
		r := &c.result
		ps := sim.Percentiles(r.TTFT, 50, 90, 99)
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%.1f %%\t%s\t%s\t%s\t%s\t%.1f %%\t\n", c.name,
			seconds(sim.Mean(r.TTFT)), seconds(ps[0]), seconds(ps[1]), seconds(ps[2]),
			percent(len(r.Waits), len(r.TTFT)), seconds(r.MaxWait),
			tokens(r.LoadedTokens), tokens(r.RecomputedTokens), tokens(r.GivenUpTokens),
			100*busyShare(r))
	}
	return w.Flush()
}

func rate(bytes int64) string         { return fmt.Sprintf("%g GB/s", float64(bytes)/1e9) }
func seconds(d time.Duration) string  { return fmt.Sprintf("%.2f s", d.Seconds()) }
func tokens(n int) string             { return fmt.Sprintf("%.2f M", float64(n)/1e6) }
func percent(part, whole int) float64 { return 100 * float64(part) / float64(max(whole, 1)) }

// coarse is how many requests have the same time if a trace's clock is coarse.
const coarse = 1.5

func busyShare(r *sim.Result) float64 {
	return r.DeviceBusy.Seconds() / max(r.Served.Seconds(), 1e-9)
}

type jsonOutput struct {
	Preset   string       `json:"preset"`
	Speed    float64      `json:"speed"`
	Spread   bool         `json:"spread"`
	Budget   int          `json:"budget_tokens"`
	Policies []jsonPolicy `json:"policies"`
}

type jsonPolicy struct {
	Name     string    `json:"name"`
	Requests int       `json:"requests"`
	TTFT     jsonTimes `json:"ttft_ms"`
	// Wait is of the requests that waited.
	Wait          jsonTimes `json:"wait_ms"`
	MaxWait       float64   `json:"max_wait_ms"`
	Waited        int       `json:"waited"`
	Device        int       `json:"device_tokens"`
	Loaded        int       `json:"loaded_tokens"`
	Recomputed    int       `json:"recomputed_tokens"`
	GivenUp       int       `json:"given_up_tokens"`
	Plans         int       `json:"plans"`
	Lookups       int       `json:"lookups"`
	StoresRefused int       `json:"stores_refused_blocks"`
	DeviceBusy    float64   `json:"device_busy"`
}

type jsonTimes struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
}

func timesOf(list []time.Duration) jsonTimes {
	ps := sim.Percentiles(list, 50, 90, 99)
	return jsonTimes{milliseconds(sim.Mean(list)), milliseconds(ps[0]), milliseconds(ps[1]), milliseconds(ps[2])}
}

func printJSON(out io.Writer, o options, speed float64, outcomes []outcome) error {
	doc := jsonOutput{Preset: o.preset, Speed: speed, Spread: o.spread, Budget: o.budget}
	for _, c := range outcomes {
		r := &c.result
		doc.Policies = append(doc.Policies, jsonPolicy{
			Name: c.name, Requests: len(r.TTFT), TTFT: timesOf(r.TTFT), Wait: timesOf(r.Waits),
			MaxWait: milliseconds(r.MaxWait), Waited: len(r.Waits),
			Device: r.DeviceTokens, Loaded: r.LoadedTokens, Recomputed: r.RecomputedTokens,
			GivenUp: r.GivenUpTokens, Plans: r.Plans, Lookups: r.Lookups,
			StoresRefused: r.StoresRefused, DeviceBusy: busyShare(r),
		})
	}
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(doc)
}
