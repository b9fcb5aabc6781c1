// Command quickstart shows what the two waiting policies do about three blocks of which
// the first and the last are there and the second is still being written.
package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/kvoffload/kvoffload/lookup"
	"github.com/kvoffload/kvoffload/policy"
	"github.com/kvoffload/kvoffload/tiering"
)

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

const tokensPerBlock = 16

// run plays the same scene three times.
func run(out io.Writer) error {
	// The run from the pending block to the end is two blocks, 32 tokens.
	for _, play := range []struct {
		title  string
		budget int
		then   func(*scene) error
	}{
		{"A budget of 32 tokens covers the two blocks from the pending one on:", 32, (*scene).ask},
		{"A budget of 16 tokens does not; the write lands after 2 s:", 16, (*scene).writeLands},
		{"The same budget; the write never lands:", 16, (*scene).deadlinePasses},
	} {
		fmt.Fprintln(out, play.title)
		s, err := newScene(out, play.budget)
		if err != nil {
			return err
		}
		if err := play.then(s); err != nil {
			return err
		}
		s.request.End()
		fmt.Fprintln(out)
	}
	return nil
}

// scene is a manager in which block 0 and 2 of a prompt are readable, and a request for
// that prompt.
type scene struct {
	out     io.Writer
	clock   *clock.Mock
	manager *tiering.Manager
	write   *tiering.Job
	request *tiering.Request
}

func newScene(out io.Writer, budget int) (*scene, error) {
	s := &scene{out: out, clock: clock.NewMock()}
	var err error
	s.manager, err = tiering.New(tiering.Options{
		Layout:  lookup.Layout{Groups: []lookup.Group{{TokensPerBlock: tokensPerBlock}}},
		Primary: tiering.PrimaryOptions{Blocks: 8},
		Policy: policy.Any(
			policy.Deadline{PerKey: 5 * time.Second},
			policy.RecomputeBudget{MaxTokens: budget},
		),
		Clock: s.clock,
	})
	if err != nil {
		return nil, err
	}
	writer := s.manager.Begin(tiering.RequestOptions{ID: "writer"})
	defer writer.End()
	if s.write, err = writer.Store(keys(), []int{16, 32, 48}); err != nil {
		return nil, err
	}
	for _, written := range []int{0, 2} {
		if err := s.write.Done(written, nil); err != nil {
			return nil, err
		}
	}
	s.request = s.manager.Begin(tiering.RequestOptions{ID: "reader"})
	return s, nil
}

// keys names the three blocks. A server has them from the hashes of its tokens, or from
// lookup.NewChain.
func keys() []lookup.Key {
	return []lookup.Key{lookup.KeyFrom64(1, 0), lookup.KeyFrom64(2, 0), lookup.KeyFrom64(3, 0)}
}

func (s *scene) say(format string, args ...any) {
	at := s.clock.Now().Sub(time.Unix(0, 0)).Seconds()
	fmt.Fprintf(s.out, "  %.1fs  %s\n", at, fmt.Sprintf(format, args...))
}

// ask asks the first time: the prompt is the three blocks and one token more.
func (s *scene) ask() error {
	s.say("asked about [hit, pending, hit]")
	return s.follow(s.request.Plan(lookup.Query{Keys: [][]lookup.Key{keys()}, Tokens: 3*tokensPerBlock + 1}))
}

// follow does what a plan says.
func (s *scene) follow(p tiering.Plan) error {
	switch p.Action {
	case lookup.Load:
		_, blocks := p.Claim.Group(0)
		s.say("load %d tokens from claimed blocks %v, compute the other %d (%v)",
			p.Tokens, blocks, 3*tokensPerBlock+1-p.Tokens, p.Reason)
		return p.Claim.Release() // once they have been copied
	case lookup.Wait:
		s.say("wait (%v), %v at most", p.Reason, p.Until)
	case lookup.Recompute:
		s.say("recompute everything (%v)", p.Reason)
	}
	return p.Err
}

func (s *scene) writeLands() error {
	if err := s.ask(); err != nil {
		return err
	}
	s.clock.Add(2 * time.Second)
	s.say("the write lands")
	if err := s.write.Finish(nil); err != nil {
		return err
	}
	return s.askWoken()
}

func (s *scene) deadlinePasses() error {
	if err := s.ask(); err != nil {
		return err
	}
	left, _ := s.manager.NextWake()
	s.clock.Add(left)
	s.say("the deadline for the block passes")
	return s.askWoken()
}

// askWoken asks again for every request that is worth it, as a scheduler does in each
// of its steps. Nobody polls.
func (s *scene) askWoken() error {
	for _, r := range s.manager.Ready(nil) {
		if err := s.follow(r.Replan()); err != nil {
			return err
		}
	}
	return nil
}
