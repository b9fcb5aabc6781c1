package policy

import (
	"errors"
	"fmt"
	"reflect"
)

// ErrPolicy is wrapped by every error about a policy.
var ErrPolicy = errors.New("policy: invalid policy")

// Validator is what a Policy also implements if it can be set up wrongly.
type Validator interface {
	// Validate returns what is wrong, or nil. It need not wrap ErrPolicy: the
	// function Validate does.
	Validate() error
}

// Validate reports every fault of a policy and of those it is combined of, in one
// error, which wraps [ErrPolicy], or nil. A policy that is nil, or a nil pointer,
// is a fault. A policy that is no [Validator] has none.
func Validate(p Policy) error {
	if err := check(p); err != nil {
		return wrap(err)
	}
	return nil
}

// Bounded returns p, or p combined with the default [Deadline] if p is built of
// nothing that bounds a wait: [RecomputeBudget] and [Stalled] alone. Nil
// becomes the default Deadline. A policy of the user's, Always and NoLimit are
// choices, and stay what they are.
func Bounded(p Policy) Policy {
	switch {
	case p == nil:
		return Deadline{}
	case saysHowLong(p):
		return p
	}
	return Any(p, Deadline{})
}

func saysHowLong(p Policy) bool {
	switch p := p.(type) {
	case RecomputeBudget, *RecomputeBudget, Stalled, *Stalled:
		return false
	case *anyOf:
		for _, m := range p.members {
			if saysHowLong(m) {
				return true
			}
		}
		return len(p.members) == 0 // invalid as it is
	}
	return true
}

// check is Validate without the prefix, which is to be there once.
func check(p Policy) error {
	if isNil(p) {
		return nilFault(p)
	}
	if v, ok := p.(Validator); ok {
		return v.Validate()
	}
	return nil
}

// isNil reports whether p is nil or a nil pointer. A nil pointer whose methods bear
// it is refused too: nearly always it is a mistake, and a value would do as well.
func isNil(p Policy) bool {
	if p == nil {
		return true
	}
	v := reflect.ValueOf(p)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

func nilFault(p Policy) error {
	if p == nil {
		return fault("policy is nil")
	}
	return fault("policy is a nil %T", p)
}

// faults is an error of several, one a line. It is a type of its own so that those
// of members can be named one by one.
type faults []error

func (f faults) Error() string   { return errors.Join(f...).Error() }
func (f faults) Unwrap() []error { return f }

func (f *faults) add(format string, args ...any) { *f = append(*f, fmt.Errorf(format, args...)) }

// addMember adds what is wrong with the member of an Any.
func (f *faults) addMember(i int, err error) {
	if err == nil {
		return
	}
	list, ok := err.(faults) // not errors.As: what a user wrapped around one is to be kept
	if !ok {
		list = faults{err}
	}
	for _, e := range list {
		f.add("Any[%d]: %w", i, e)
	}
}

func (f faults) err() error {
	if len(f) == 0 {
		return nil
	}
	return f
}

func fault(format string, args ...any) error { return fmt.Errorf(format, args...) }

func wrap(err error) error { return fmt.Errorf("%w: %w", ErrPolicy, err) }
