package sim

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/kvoffload/kvoffload/tiering"
)

// Result is what a run came to.
type Result struct {
	// Requests is how many the workload has.
	Requests int
	// TTFT has the time from arrival to first token of each request.
	TTFT []time.Duration
	// Waits has what each request that was told to wait spent so: not with the time
	// after it was woken, for a place on the device. MaxWait is the longest.
	Waits   []time.Duration
	MaxWait time.Duration
	// Tokens of all prompts: found on the device, loaded from the host, computed.
	PromptTokens, DeviceTokens, LoadedTokens, RecomputedTokens int
	// GivenUpTokens were cut, or belong to blocks given up, by the policy.
	GivenUpTokens int
	// Plans and Lookups count questions, and the blocks asked for in them.
	Plans, Lookups int
	// StoresRefused counts blocks that were never stored, for want of room in the
	// primary or on the way to it.
	StoresRefused int
	// DeviceBusy is how long the device computed, Served how long it took until the
	// last request was over, Elapsed until the last transfer was.
	DeviceBusy, Served, Elapsed time.Duration
	// Channels are what carried blocks; those of the disk share DiskBusy.
	Channels []Channel
	DiskBusy time.Duration
	// DeviceHeld counts device blocks that are held at the end.
	DeviceHeld int
	Stats      tiering.Stats

	faults []error
}

// Channel is something that carries blocks.
type Channel struct {
	Name      string
	Bandwidth int64 // bytes a second
	// Bytes went through it, Wanted should have, counted where they came to.
	Bytes, Wanted int64
}

func (r *Result) fault(err error) { r.faults = append(r.faults, err) }

// addRequest books a request that has ended.
func (r *Result) addRequest(j *job) {
	r.PromptTokens += j.Input
	r.DeviceTokens += j.onDevice
	r.LoadedTokens += j.loaded
	r.RecomputedTokens += j.prefilled
	if j.told {
		r.Waits = append(r.Waits, j.waited)
		r.MaxWait = max(r.MaxWait, j.waited)
	}
	if sum := j.onDevice + j.loaded + j.prefilled; sum != j.Input {
		r.fault(fmt.Errorf("a request of %d tokens had %d on the device, %d loaded and %d computed",
			j.Input, j.onDevice, j.loaded, j.prefilled))
	}
}

// Check reports what can't be: work that came from nowhere or was lost, a transfer
// faster than its channel, a claim or a request left behind.
func (r *Result) Check() error {
	faults := slices.Clone(r.faults)
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if sum := r.DeviceTokens + r.LoadedTokens + r.RecomputedTokens; sum != r.PromptTokens {
		fault("%d tokens found, loaded and computed, %d needed", sum, r.PromptTokens)
	}
	if len(r.TTFT) != r.Requests {
		fault("%d of %d requests were answered", len(r.TTFT), r.Requests)
	}
	for _, c := range r.Channels {
		if c.Bytes != c.Wanted {
			fault("%s carried %d bytes, %d arrived", c.Name, c.Bytes, c.Wanted)
		}
		// A transfer's time is rounded down to a nanosecond.
		if need := float64(c.Bytes) / float64(c.Bandwidth); need > r.Elapsed.Seconds()*(1+1e-6) {
			fault("%s carried %d bytes in %v", c.Name, c.Bytes, r.Elapsed)
		}
	}
	if r.DiskBusy > r.Elapsed || r.DeviceBusy > r.Served {
		fault("disk busy for %v of %v, device for %v of %v", r.DiskBusy, r.Elapsed, r.DeviceBusy, r.Served)
	}
	if r.DeviceHeld != 0 {
		fault("%d device blocks are held", r.DeviceHeld)
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

// Mean returns the mean of some times, 0 of none.
func Mean(times []time.Duration) time.Duration {
	if len(times) == 0 {
		return 0
	}
	var sum time.Duration
	for _, t := range times {
		sum += t
	}
	return sum / time.Duration(len(times))
}

// Percentiles returns those of some times: the smallest that so many percent are not
// above; 0 of none.
func Percentiles(times []time.Duration, percents ...float64) []time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	list := make([]time.Duration, len(percents))
	for i, p := range percents {
		if n := len(sorted); n > 0 {
			rank := int(math.Ceil(p*float64(n)/100)) - 1
			list[i] = sorted[min(max(rank, 0), n-1)]
		}
	}
	return list
}
