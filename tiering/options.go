package tiering

import (
	"errors"
	"fmt"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/kvoffload/kvoffload/lookup"
	"github.com/kvoffload/kvoffload/policy"
)

// PrimaryName is the primary's name in events, and not to be taken by a secondary.
const PrimaryName = "primary"

// NoLimit switches off a limit on a number that would otherwise have a default.
const NoLimit = -1

// MaxBlocks is how many blocks a primary can have.
const MaxBlocks = 1 << 28

// DefaultFailedLoadMemory is the default of Options.FailedLoadMemory. Shorter than
// the usual outage it would let every request wait for a load that fails; much
// longer it would keep a block that is back from being used.
const DefaultFailedLoadMemory = 30 * time.Second

// Options configure a Manager. They are copied; changing them later has no effect.
type Options struct {
	// Layout says how the model's KV is divided. Required.
	Layout lookup.Layout
	// Primary configures the tier that blocks are loaded from. Required.
	Primary PrimaryOptions
	// Secondaries are the tiers behind it, in the order in which they are asked.
	// Default none.
	Secondaries []Secondary
	// Policy decides between waiting and recomputing. Default policy.Deadline{},
	// which bounds every wait and cuts nothing; a policy of package policy that
	// bounds no wait gets that added, see policy.Bounded. To wait without a bound
	// say policy.Always{}, or policy.NoLimit, and StalledAfter: policy.NoLimit
	// too, which applies whatever the policy. A policy of your own waits as long
	// as it says.
	Policy policy.Policy
	// Clock is where time is read. Default the real clock.
	Clock clock.Clock
	// StalledAfter is the age at which a write in flight counts as lost for
	// requests that have not seen it before: they don't wait for it. Default
	// policy.DefaultStalledAfter; policy.NoLimit: never.
	StalledAfter time.Duration
	// FailedLoadMemory is for how long a tier is not believed to have a block that
	// it has failed to load, so that the next request does not repeat the doomed
	// promotion. A store of the block ends it sooner. Default
	// DefaultFailedLoadMemory.
	FailedLoadMemory time.Duration
	// Events are called as things happen. Default none.
	Events Events
}

// PrimaryOptions configure the primary tier.
type PrimaryOptions struct {
	// Blocks is how many blocks it holds. Required, 1 to MaxBlocks.
	Blocks int
	// PromotionBlocks bounds how many blocks promotions in flight, and landed but
	// unread, may take up, so that waiting requests can't fill the primary and
	// leave running requests' stores without room. Default half of Blocks;
	// NoLimit: all.
	PromotionBlocks int
}

// withDefaults returns a copy with every default filled in.
func (o Options) withDefaults() Options {
	o.Secondaries = append([]Secondary(nil), o.Secondaries...)
	if o.Policy == nil {
		o.Policy = policy.Deadline{}
	}
	if o.Clock == nil {
		o.Clock = clock.New()
	}
	if o.StalledAfter == 0 {
		o.StalledAfter = policy.DefaultStalledAfter
	}
	if o.FailedLoadMemory == 0 {
		o.FailedLoadMemory = DefaultFailedLoadMemory
	}
	if o.Primary.PromotionBlocks == 0 {
		o.Primary.PromotionBlocks = max(1, o.Primary.Blocks/2)
	}
	return o
}

// validate reports every fault in one error, or nil.
func (o Options) validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if err := o.Layout.Validate(); err != nil {
		fault("Layout: %w", err)
	}
	if o.Primary.Blocks < 1 || o.Primary.Blocks > MaxBlocks {
		fault("Primary.Blocks is %d, want 1 to %d", o.Primary.Blocks, MaxBlocks)
	}
	if n := o.Primary.PromotionBlocks; n < NoLimit {
		fault("Primary.PromotionBlocks is %d, want 1 or more, 0 for the default or NoLimit", n)
	}
	if err := policy.Validate(o.Policy); err != nil {
		fault("Policy: %w", err)
	}
	if o.StalledAfter < 0 {
		fault("StalledAfter is %v, want more than 0, 0 for the default or policy.NoLimit", o.StalledAfter)
	}
	if o.FailedLoadMemory < 0 {
		fault("FailedLoadMemory is %v, want more than 0, or 0 for the default", o.FailedLoadMemory)
	}
	names := map[string]int{PrimaryName: -1}
	for i, s := range o.Secondaries {
		if s == nil {
			fault("Secondaries[%d] is nil", i)
			continue
		}
		name, err := nameOf(s)
		if err != nil {
			fault("Secondaries[%d].Name: %w", i, err)
			continue
		}
		if name == "" {
			fault("Secondaries[%d].Name is empty", i)
			continue
		}
		if _, taken := names[name]; taken {
			fault("Secondaries[%d].Name %q is taken", i, name)
		}
		names[name] = i
	}
	if len(faults) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrOptions, errors.Join(faults...))
}

// nameOf contains a tier whose Name panics, a nil pointer in an interface above all.
func nameOf(s Secondary) (name string, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panicked: %v", v)
		}
	}()
	return s.Name(), nil
}
