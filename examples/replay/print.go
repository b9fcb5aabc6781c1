package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/kvoffload/kvoffload/internal/sim"
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
	fmt.Fprintf(out, "engine    preset %s: prefill %d tokens/s, device %d blocks of %d tokens, primary %d, load %s, store %s",
		o.preset, p.PrefillTokens, p.DeviceBlocks, sim.TokensPerBlock, p.PrimaryBlocks, rate(p.LoadBandwidth), rate(p.StoreBandwidth))
	if d := p.Disk; d != nil {
		fmt.Fprintf(out, ", disk %s read, %s write, %v", rate(d.ReadBandwidth), rate(d.WriteBandwidth), d.Latency)
	}
	fmt.Fprintf(out, "\npolicies  budget %d tokens, deadlines 5s a key, 5s for retry, 10s a request\n\n", o.budget)

	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "policy\tTTFT mean\tp50\tp90\tp99\twaited\tlongest wait\tloaded\trecomputed\tgiven up\tdevice busy\t")
	for _, c := range outcomes {
		r := &c.result
		ps := r.Percentiles(50, 90, 99)
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%.1f %%\t%s\t%s\t%s\t%s\t%.1f %%\t\n", c.name,
			seconds(r.Mean()), seconds(ps[0]), seconds(ps[1]), seconds(ps[2]),
			percent(r.Waited, len(r.TTFT)), seconds(r.MaxWait),
			tokens(r.LoadedTokens), tokens(r.RecomputedTokens), tokens(r.GivenUpTokens),
			100*r.DeviceBusy.Seconds()/max(r.Elapsed.Seconds(), 1e-9))
	}
	return w.Flush()
}

func rate(bytes int64) string         { return fmt.Sprintf("%g GB/s", float64(bytes)/1e9) }
func seconds(d time.Duration) string  { return fmt.Sprintf("%.2f s", d.Seconds()) }
func tokens(n int) string             { return fmt.Sprintf("%.2f M", float64(n)/1e6) }
func percent(part, whole int) float64 { return 100 * float64(part) / float64(max(whole, 1)) }

type jsonOutput struct {
	Preset   string       `json:"preset"`
	Speed    float64      `json:"speed"`
	Budget   int          `json:"budget_tokens"`
	Policies []jsonPolicy `json:"policies"`
}

type jsonPolicy struct {
	Name     string `json:"name"`
	Requests int    `json:"requests"`
	TTFT     struct {
		Mean float64 `json:"mean"`
		P50  float64 `json:"p50"`
		P90  float64 `json:"p90"`
		P99  float64 `json:"p99"`
	} `json:"ttft_ms"`
	MaxWait    float64 `json:"max_wait_ms"`
	Waited     int     `json:"waited"`
	Device     int     `json:"device_tokens"`
	Loaded     int     `json:"loaded_tokens"`
	Recomputed int     `json:"recomputed_tokens"`
	GivenUp    int     `json:"given_up_tokens"`
	Plans      int     `json:"plans"`
	Lookups    int     `json:"lookups"`
	DeviceBusy float64 `json:"device_busy"`
}

func printJSON(out io.Writer, o options, speed float64, outcomes []outcome) error {
	doc := jsonOutput{Preset: o.preset, Speed: speed, Budget: o.budget}
	for _, c := range outcomes {
		r := &c.result
		ps := r.Percentiles(50, 90, 99)
		p := jsonPolicy{
			Name: c.name, Requests: len(r.TTFT), MaxWait: milliseconds(r.MaxWait), Waited: r.Waited,
			Device: r.DeviceTokens, Loaded: r.LoadedTokens, Recomputed: r.RecomputedTokens,
			GivenUp: r.GivenUpTokens, Plans: r.Plans, Lookups: r.Lookups,
			DeviceBusy: r.DeviceBusy.Seconds() / max(r.Elapsed.Seconds(), 1e-9),
		}
		p.TTFT.Mean = milliseconds(r.Mean())
		p.TTFT.P50, p.TTFT.P90, p.TTFT.P99 = milliseconds(ps[0]), milliseconds(ps[1]), milliseconds(ps[2])
		doc.Policies = append(doc.Policies, p)
	}
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(doc)
}
