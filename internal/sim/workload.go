package sim

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"
)

// Request is one request of a workload.
type Request struct {
	// Arrival is the time from the start.
	Arrival time.Duration
	// Input and Output are lengths in tokens.
	Input, Output int
	// Blocks has an id for each block of the prompt, the last of which may be partial.
	// Equal ids are equal prefixes.
	Blocks []uint64
}

// Generate makes a workload of so many requests: conversations that share one of a few
// system prompts, grow with every turn, and pause in between. The same seed makes the
// same workload.
func Generate(seed uint64, requests int) []Request {
	rng := rand.New(rand.NewPCG(seed, 0x6b766f66))
	next := uint64(1)
	fresh := func() uint64 { next++; return next }
	systems := make([][]uint64, 8)
	for i := range systems {
		for range 1 + rng.IntN(6) {
			systems[i] = append(systems[i], fresh())
		}
	}
	var list []Request
	for start := 0.0; len(list) < requests; start += rng.ExpFloat64() * 1.2 {
		blocks := slices.Clone(systems[rng.IntN(len(systems))])
		tokens := len(blocks) * TokensPerBlock
		at := start
		for turn := 1 + rng.IntN(6); turn > 0 && len(list) < requests; turn-- {
			tokens += 64 + int(rng.ExpFloat64()*4000)
			tokens = min(tokens, 120_000)
			for len(blocks)*TokensPerBlock < tokens {
				blocks = append(blocks, fresh())
			}
			output := 16 + int(rng.ExpFloat64()*250)
			list = append(list, Request{
				Arrival: time.Duration(at * float64(time.Second)),
				Input:   tokens, Output: output, Blocks: slices.Clone(blocks),
			})
			// The last block was partial: with the answer and the next turn in it, it
			// is another one.
			if tokens%TokensPerBlock != 0 {
				blocks[len(blocks)-1] = fresh()
			}
			tokens += output
			at += 5 + rng.ExpFloat64()*60
		}
	}
	slices.SortStableFunc(list, func(a, b Request) int { return cmp.Compare(a.Arrival, b.Arrival) })
	return list
}

// maxArrivalTime keeps all times of a run far from the end of what a Duration holds.
const maxArrivalTime = 100 * 366 * 24 * time.Hour

// Scale makes a workload arrive so many times as fast. An arrival later than after a
// hundred years is put there.
func Scale(workload []Request, speed float64) []Request {
	scaled := slices.Clone(workload)
	for i := range scaled {
		scaled[i].Arrival = time.Duration(min(float64(scaled[i].Arrival)/speed, float64(maxArrivalTime)))
	}
	return scaled
}

// Spread makes requests that arrive at the same time arrive evenly until the next ones
// do, for traces whose clock is too coarse to tell them apart. The last ones get the
// time that those before had.
func Spread(workload []Request) []Request {
	spread := slices.Clone(workload)
	var gap time.Duration
	for first := 0; first < len(spread); {
		at, next := spread[first].Arrival, first
		for next < len(spread) && spread[next].Arrival == at {
			next++
		}
		if next < len(spread) {
			gap = spread[next].Arrival - at
		}
		for i := first; i < next; i++ {
			share := float64(i-first) / float64(next-first)
			spread[i].Arrival = at + time.Duration(share*float64(gap))
		}
		first = next
	}
	return spread
}

// Together returns how many requests arrive at the same time, on average.
func Together(workload []Request) float64 {
	times := 0
	for i, r := range workload {
		if i == 0 || r.Arrival != workload[i-1].Arrival {
			times++
		}
	}
	return float64(len(workload)) / float64(max(times, 1))
}

// Demand returns the prompt tokens a second that a workload asks for, and those that
// are left to compute if every block once computed were there for ever.
func Demand(workload []Request) (asked, fresh float64) {
	seen := make(map[uint64]bool)
	var all, left int
	var last time.Duration
	for _, r := range workload {
		last = max(last, r.Arrival)
		all += r.Input
		hits := 0
		for _, id := range r.Blocks[:min(len(r.Blocks), (r.Input-1)/TokensPerBlock)] {
			if !seen[id] {
				break
			}
			hits++
		}
		for _, id := range r.Blocks {
			seen[id] = true
		}
		left += r.Input - hits*TokensPerBlock
	}
	if last == 0 {
		last = time.Second
	}
	return float64(all) / last.Seconds(), float64(left) / last.Seconds()
}
