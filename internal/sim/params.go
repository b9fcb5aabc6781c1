package sim

import (
	"errors"
	"fmt"
	"time"

	"github.com/kvoffload/kvoffload/policy"
)

// TokensPerBlock is the block of the traces, and so of the model.
const TokensPerBlock = 512

// Params are the engine's. The defaults are those of an 8B model on one data-centre GPU.
type Params struct {
	// BytesPerToken of KV: 32 layers x 8 KV heads x 128 x 2 (K and V) x 2 bytes.
	BytesPerToken int
	// PrefillTokens a second. Measured on H100-class GPUs: 11,000 to 22,500.
	PrefillTokens int
	// StepTokens is how many prompt tokens a step computes at most.
	StepTokens int
	// DecodeStep is what a step takes that decodes.
	DecodeStep time.Duration
	// MaxRunning is how many requests are on the device at a time.
	MaxRunning int
	// DeviceBlocks is the device's KV memory.
	DeviceBlocks int
	// PrimaryBlocks is the host's.
	PrimaryBlocks int
	// LoadBandwidth and StoreBandwidth are those of the host link, in bytes a second.
	LoadBandwidth, StoreBandwidth int64
	// StagingBlocks is the size of a write buffer in the engine's own memory, which
	// stores reach at LoadBandwidth and leave at StoreBandwidth; when it is full nothing
	// is offered. 0: there is none, and a block stays on the device until it is stored.
	StagingBlocks int
	// Disk is the directory tier; nil: none.
	Disk *DiskParams
	// Policy decides, and StalledAfter is the Manager's.
	Policy       policy.Policy
	StalledAfter time.Duration
}

// DiskParams are those of the directory tier.
type DiskParams struct {
	// CheckLatency is what an existence check takes, CheckPerKey what each key of the
	// queue before it adds.
	CheckLatency, CheckPerKey time.Duration
	// Latency comes on top of each block read or written.
	Latency time.Duration
	// ReadBandwidth and WriteBandwidth in bytes a second.
	ReadBandwidth, WriteBandwidth int64
	// QueueBlocks is how many writes may wait; more are declined.
	QueueBlocks int
}

const (
	gigabyte = 1_000_000_000
	// gibibyte of KV in blocks of the model: 64 MiB each.
	blocksPerGiB = 16
)

// Presets are the named regimes.
var Presets = map[string]func() Params{
	// host: a terabyte of host memory on a fast link; little is ever pending.
	"host": func() Params {
		p := base()
		p.PrimaryBlocks = 1024 * blocksPerGiB
		p.LoadBandwidth, p.StoreBandwidth = 50*gigabyte, 50*gigabyte
		return p
	},
	// backlog: a terabyte of remote or shared memory, written at 0.9 GB/s, 75 ms a block
	// (reports of one write run from 20 ms to 2.2 s), from a buffer of as much host
	// memory as tiered has. Prefill makes KV faster than that while traffic is high.
	// Without a buffer nobody would wait for a store: what is still to be stored would
	// be on the device, and found there.
	"backlog": func() Params {
		p := base()
		p.PrimaryBlocks = 1024 * blocksPerGiB
		p.StoreBandwidth = 900_000_000
		p.StagingBlocks = 128 * blocksPerGiB
		return p
	},
	// tiered: host memory much smaller than the working set, and behind it a directory
	// on a disk with the figures of SATA flash, which reads a block more slowly than the
	// device computes four of them.
	"tiered": func() Params {
		p := base()
		p.PrimaryBlocks = 128 * blocksPerGiB
		p.Disk = &DiskParams{
			CheckLatency: 2 * time.Millisecond, CheckPerKey: 100 * time.Microsecond,
			Latency:       150 * time.Microsecond,
			ReadBandwidth: 550_000_000, WriteBandwidth: 500_000_000,
			QueueBlocks: 256,
		}
		return p
	},
}

func base() Params {
	return Params{
		BytesPerToken:  131072,
		PrefillTokens:  15000,
		StepTokens:     512,
		DecodeStep:     15 * time.Millisecond,
		MaxRunning:     128,
		DeviceBlocks:   48 * blocksPerGiB, // an 80 GB device less weights and activations
		LoadBandwidth:  25 * gigabyte,     // PCIe 4
		StoreBandwidth: 25 * gigabyte,
	}
}

func (p Params) blockBytes() int64 { return int64(p.BytesPerToken) * TokensPerBlock }

// Validate reports every fault in one error, or nil.
func (p Params) Validate() error {
	var faults []error
	positive := func(name string, n int64) {
		if n <= 0 {
			faults = append(faults, fmt.Errorf("%s is %d, want more than 0", name, n))
		}
	}
	positive("BytesPerToken", int64(p.BytesPerToken))
	positive("PrefillTokens", int64(p.PrefillTokens))
	positive("StepTokens", int64(p.StepTokens))
	positive("DecodeStep", int64(p.DecodeStep))
	positive("MaxRunning", int64(p.MaxRunning))
	positive("DeviceBlocks", int64(p.DeviceBlocks))
	positive("PrimaryBlocks", int64(p.PrimaryBlocks))
	positive("LoadBandwidth", p.LoadBandwidth)
	positive("StoreBandwidth", p.StoreBandwidth)
	if p.StagingBlocks < 0 {
		faults = append(faults, fmt.Errorf("StagingBlocks is %d, want 0 or more", p.StagingBlocks))
	}
	if d := p.Disk; d != nil {
		positive("Disk.ReadBandwidth", d.ReadBandwidth)
		positive("Disk.WriteBandwidth", d.WriteBandwidth)
		positive("Disk.QueueBlocks", int64(d.QueueBlocks))
		if d.CheckLatency < 0 || d.CheckPerKey < 0 || d.Latency < 0 {
			faults = append(faults, errors.New("Disk has a negative latency"))
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return fmt.Errorf("sim: invalid parameters: %w", errors.Join(faults...))
}

// ErrTooLong is wrapped by the error about a request that the device can't hold.
var ErrTooLong = errors.New("sim: request is too long for the device")

// Fits reports the first request of a workload that the device can't hold, or nil.
func (p Params) Fits(workload []Request) error {
	for i, r := range workload {
		if need := blocksFor(r.Input + r.Output); need > p.DeviceBlocks {
			return fmt.Errorf("%w: number %d of the workload needs %d blocks, there are %d",
				ErrTooLong, i+1, need, p.DeviceBlocks)
		}
	}
	return nil
}
