package policy

import (
	"slices"
	"time"

	"github.com/kvoffload/kvoffload/lookup"
)

// Any combines policies: it says Recompute as soon as one of them does, for the
// reason of the first that does; else it waits, and looks again when the first of
// them may change its mind. Every member is told of cuts that took effect, if it
// is an [Accountant].
//
// A member that is nil says Recompute, and so does an Any without members, which
// would bound nothing; [Validate] refuses both.
func Any(policies ...Policy) Policy {
	a := &anyOf{members: slices.Clone(policies)}
	for i, p := range a.members {
		if isNil(p) {
			a.members[i] = missing{p}
		}
		if c, ok := a.members[i].(Accountant); ok {
			a.accountants = append(a.accountants, c)
		}
		switch p := a.members[i].(type) {
		case RecomputeBudget, *RecomputeBudget:
		default:
			a.block = append(a.block, p)
		}
	}
	return a
}

type anyOf struct {
	members     []Policy
	block       []Policy // of members, those that may have an opinion on blocks, which are many
	accountants []Accountant
}

func (a *anyOf) Decide(s Snapshot) Decision {
	if len(a.members) == 0 {
		return Decision{Reason: lookup.ReasonRefused}
	}
	asked := a.members
	if s.Scope == Block {
		asked = a.block
	}
	var after time.Duration
	for _, p := range asked {
		d := Check(p.Decide(s))
		if d.Verdict == Recompute {
			return d
		}
		if after == 0 || (d.After > 0 && d.After < after) {
			after = d.After
		}
	}
	return Decision{Verdict: Wait, After: after}
}

func (a *anyOf) Commit(s Snapshot) {
	for _, c := range a.accountants {
		c.Commit(s)
	}
}

func (a *anyOf) Validate() error {
	var f faults
	if len(a.members) == 0 {
		f.add("Any has no members")
	}
	for i, p := range a.members {
		f.addMember(i, check(p))
	}
	return f.err()
}

// missing stands for a nil member of an Any.
type missing struct{ was Policy }

func (missing) Decide(Snapshot) Decision { return Decision{Reason: lookup.ReasonRefused} }
func (m missing) Validate() error        { return nilFault(m.was) }
