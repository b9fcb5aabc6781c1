package policy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kvoffload/kvoffload/lookup"
	"github.com/kvoffload/kvoffload/policy"
)

// TestScripts runs testdata/*.txt, one step a line:
//
//	deadline key=.. retry=.. request=.. base=.. thousand=.. max=..   the policy
//	tokens N                  length of the request from here on
//	at DURATION               BeginScan
//	block KEY ANSWER = RESULT REASON     RESULT is gaveup for a Miss that is new
//	until DURATION|none       of this scan
//	defer                     the plan is to wait
//	age DURATION              of the request
//	end                       Reset
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			s := script{tokens: 1000}
			for i, line := range strings.Split(string(text), "\n") {
				line, _, _ = strings.Cut(line, "#")
				if f := strings.Fields(line); len(f) > 0 {
					require.NoError(t, s.step(f), "%s:%d: %s", file, i+1, line)
				}
			}
		})
	}
}

type script struct {
	deadline policy.Deadline
	tokens   int
	now      time.Duration
	w        policy.Waits
}

func (s *script) step(f []string) error {
	switch f[0] {
	case "deadline":
		return s.setDeadline(f[1:])
	case "tokens":
		_, err := fmt.Sscan(f[1], &s.tokens)
		return err
	case "at":
		now, err := time.ParseDuration(f[1])
		s.now = now
		s.w.BeginScan(s.deadline, now, s.tokens)
		return err
	case "block":
		return s.block(f[1], f[2], strings.Join(f[4:], " "))
	case "until":
		got := "none"
		if d, ok := s.w.Until(); ok {
			got = d.String()
		}
		return same(got, f[1])
	case "defer":
		s.w.Deferred()
		return nil
	case "age":
		return same(s.w.RequestAge(s.now).String(), f[1])
	case "end":
		s.w.Reset()
		return nil
	}
	return fmt.Errorf("unknown step")
}

func (s *script) setDeadline(settings []string) error {
	fields := map[string]*time.Duration{
		"key": &s.deadline.PerKey, "retry": &s.deadline.PerRetry, "request": &s.deadline.PerRequest,
		"base": &s.deadline.Base, "thousand": &s.deadline.PerThousandTokens, "max": &s.deadline.Max,
	}
	for _, setting := range settings {
		name, value, _ := strings.Cut(setting, "=")
		d, err := time.ParseDuration(value)
		if err != nil || fields[name] == nil {
			return fmt.Errorf("can't set %s", setting)
		}
		*fields[name] = d
	}
	return policy.Validate(s.deadline)
}

func (s *script) block(name, answer, want string) error {
	for r := range lookup.Result(lookup.Results) {
		if r.String() != answer {
			continue
		}
		k := lookup.Key{}
		copy(k.Hash[:], name)
		o := s.w.Block(&k, r, 0)
		got := o.Result.String()
		if o.GaveUp {
			got = "gaveup"
		}
		return same(got+" "+o.Reason.String(), want)
	}
	return fmt.Errorf("unknown answer")
}

func same(got, want string) error {
	if d, err := time.ParseDuration(want); err == nil {
		want = d.String()
	}
	if got != want {
		return fmt.Errorf("got %s", got)
	}
	return nil
}
