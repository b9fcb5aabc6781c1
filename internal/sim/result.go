package sim

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kvoffload/kvoffload/tiering"
)

// Result is what a run came to.
type Result struct {
	// TTFT has the time from arrival to first token of each request.
	TTFT []time.Duration
	// Waited counts the requests that were told to wait, MaxWait is the longest that
	// one spent so: not with the time after it was woken, for a place on the device.
	Waited  int
	MaxWait time.Duration
	// Tokens of all prompts: found on the device, loaded from the host, computed.
	PromptTokens, DeviceTokens, LoadedTokens, RecomputedTokens int
	// ComputedTokens is the same as RecomputedTokens, counted where they were computed.
	ComputedTokens int
	// GivenUpTokens were cut, or belong to blocks given up, by the policy.
	GivenUpTokens int
	// Plans and Lookups count questions, and the blocks asked for in them.
	Plans, Lookups int
	// StoresRefused counts blocks for which the primary had no room.
	StoresRefused int
	// DeviceBusy and Elapsed are virtual time; LinkBusy that of each transfer channel.
	DeviceBusy, Elapsed time.Duration
	LinkBusy            []time.Duration
	Stats               tiering.Stats

	faults []error
}

func (r *Result) fault(err error) { r.faults = append(r.faults, err) }

// addRequest books a request that has ended.
func (r *Result) addRequest(j *job, computed int) {
	r.PromptTokens += j.Input
	r.DeviceTokens += j.onDevice
	r.LoadedTokens += j.loaded
	r.RecomputedTokens += computed
	r.MaxWait = max(r.MaxWait, j.waited)
}

// Check reports what can't be: work that came from nowhere or was lost, a transfer
// faster than its channel, a claim or a request left behind.
func (r *Result) Check() error {
	faults := slices.Clone(r.faults)
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if sum := r.DeviceTokens + r.LoadedTokens + r.ComputedTokens; sum != r.PromptTokens {
		fault("%d tokens found, loaded and computed, %d needed", sum, r.PromptTokens)
	}
	if r.ComputedTokens != r.RecomputedTokens {
		fault("%d tokens computed on the device, %d for requests", r.ComputedTokens, r.RecomputedTokens)
	}
	for i, busy := range r.LinkBusy {
		if busy > r.Elapsed {
			fault("channel %d was busy for %v of %v", i, busy, r.Elapsed)
		}
	}
	if r.DeviceBusy > r.Elapsed {
		fault("the device was busy for %v of %v", r.DeviceBusy, r.Elapsed)
	}
	if s := r.Stats; s.Claimed+s.Pending+s.Promoting+s.Requests+s.Parked+s.Jobs != 0 {
		fault("left behind: %+v", s)
	}
	if r.Stats.Faults > 0 || r.Stats.Late > 0 {
		fault("%d faults and %d late completions", r.Stats.Faults, r.Stats.Late)
	}
	if len(faults) == 0 {
		return nil
	}
	return fmt.Errorf("sim: work is not conserved: %w", errors.Join(faults...))
}

// Mean returns the mean of the times to first token.
func (r *Result) Mean() time.Duration {
	if len(r.TTFT) == 0 {
		return 0
	}
	var sum time.Duration
	for _, t := range r.TTFT {
		sum += t
	}
	return sum / time.Duration(len(r.TTFT))
}

// Percentiles returns those of the times to first token: the smallest that so many
// percent are not above.
func (r *Result) Percentiles(percents ...float64) []time.Duration {
	sorted := slices.Sorted(slices.Values(r.TTFT))
	list := make([]time.Duration, len(percents))
	for i, p := range percents {
		if n := len(sorted); n > 0 {
			rank := int(p/100*float64(n)+0.999999) - 1
			list[i] = sorted[min(max(rank, 0), n-1)]
		}
	}
	return list
}
