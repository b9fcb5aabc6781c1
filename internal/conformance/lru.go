package conformance

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/kvoffload/kvoffload/lookup"
	"github.com/kvoffload/kvoffload/tiering"
)

// An lru case is a trace of operations on a Manager's primary, each with what it must
// answer and how many blocks are then evictable, being written, and free.

type lruCase struct {
	ID       string  `json:"id"`
	Policy   string  `json:"policy"`
	Capacity int     `json:"capacity"`
	Ops      []lruOp `json:"ops"`
	Final    struct {
		Recency    []int `json:"recency"`
		EvictOrder []int `json:"evict_order"`
	} `json:"final"`
}

type lruOp struct {
	Op   string          `json:"op"`
	Req  string          `json:"req"`
	Key  int             `json:"key"`
	Keys []int           `json:"keys"`
	Pos  [][2]int        `json:"pos"`
	OK   bool            `json:"ok"`
	Want json.RawMessage `json:"want"`
	St   [3]int          `json:"st"`
}

// lruRun is one trace being played.
type lruRun struct {
	m        *tiering.Manager
	evicted  []int
	requests map[string]*lruRequest
	// writes is who writes which key: its job, and its place there.
	writes map[int]lruWrite
}

type lruRequest struct {
	*tiering.Request
	ends   map[int]int
	claims []lruClaim
}

type lruWrite struct {
	req string
	job *tiering.Job
	at  int
}

type lruClaim struct {
	keys  []int
	claim tiering.Claim
}

func runLRU(line json.RawMessage) error {
	var c lruCase
	if err := json.Unmarshal(line, &c); err != nil {
		return err
	}
	if c.Policy != "lru" {
		return fmt.Errorf("policy %q is not known", c.Policy)
	}
	r := &lruRun{requests: make(map[string]*lruRequest), writes: make(map[int]lruWrite)}
	var err error
	r.m, err = tiering.New(tiering.Options{
		Layout:  lookup.Layout{Groups: []lookup.Group{{TokensPerBlock: 16}}},
		Primary: tiering.PrimaryOptions{Blocks: c.Capacity},
		Events:  tiering.Events{Evicted: func(e tiering.EvictedEvent) { r.evicted = append(r.evicted, lruNumber(e.Key)) }},
	})
	if err != nil {
		return err
	}
	for i, op := range c.Ops {
		if err := r.play(op); err != nil {
			return fmt.Errorf("op %d %s: %w", i, op.Op, err)
		}
		s := r.m.Stats()
		if got := [3]int{s.Evictable, s.Pending, s.Free}; got != op.St {
			return fmt.Errorf("op %d %s: want evictable, pending, free %v, got %v", i, op.Op, op.St, got)
		}
	}
	return r.final(c)
}

// final compares the order in which everything would be evicted.
func (r *lruRun) final(c lruCase) error {
	recency, evictable := []int{}, []int{}
	for _, b := range r.m.AppendBlocks(nil) {
		recency = append(recency, lruNumber(b.Key))
		if b.Evictable {
			evictable = append(evictable, lruNumber(b.Key))
		}
	}
	if !slices.Equal(recency, c.Final.Recency) {
		return fmt.Errorf("recency: want %v, got %v", c.Final.Recency, recency)
	}
	if !slices.Equal(evictable, c.Final.EvictOrder) {
		return fmt.Errorf("evict_order: want %v, got %v", c.Final.EvictOrder, evictable)
	}
	return nil
}

func (r *lruRun) play(op lruOp) error {
	req := r.requests[op.Req]
	if op.Op == "new_request" {
		r.requests[op.Req] = &lruRequest{Request: r.m.Begin(tiering.RequestOptions{ID: op.Req}), ends: make(map[int]int)}
		return nil
	}
	if req == nil {
		return fmt.Errorf("request %q is not known", op.Req)
	}
	for _, p := range op.Pos {
		req.ends[p[0]] = p[1]
	}
	switch op.Op {
	case "finish_request":
		req.End()
	case "lookup":
		return r.lookup(req, op)
	case "prepare_store":
		return r.prepareStore(req, op)
	case "complete_store":
		return r.completeStore(op)
	case "prepare_load":
		return r.prepareLoad(req, op)
	case "complete_load":
		return r.completeLoad(req, op)
	case "touch":
		r.m.Touch(lruKeys(op.Keys))
	default:
		return fmt.Errorf("operation is not known")
	}
	return nil
}

func (r *lruRun) lookup(req *lruRequest, op lruOp) error {
	var want string
	if err := json.Unmarshal(op.Want, &want); err != nil {
		return err
	}
	if got := req.Lookup(lruKey(op.Key)).String(); got != want {
		return fmt.Errorf("key %d: want %s, got %s", op.Key, want, got)
	}
	return nil
}

func (r *lruRun) prepareStore(req *lruRequest, op lruOp) error {
	var want struct {
		Full    bool  `json:"full"`
		Store   []int `json:"store"`
		Evicted []int `json:"evicted"`
	}
	if err := json.Unmarshal(op.Want, &want); err != nil {
		return err
	}
	r.evicted = nil
	job, err := req.Store(lruKeys(op.Keys), req.endsOf(op.Keys))
	if want.Full != (err != nil) {
		return fmt.Errorf("want full %v, got error %v", want.Full, err)
	}
	if err != nil {
		return nil
	}
	store := []int{}
	for i := range job.Len() {
		key := lruNumber(job.Block(i).Key)
		store = append(store, key)
		r.writes[key] = lruWrite{op.Req, job, i}
	}
	if !slices.Equal(store, want.Store) {
		return fmt.Errorf("store: want %v, got %v", want.Store, store)
	}
	if !slices.Equal(r.evicted, want.Evicted) {
		return fmt.Errorf("evicted: want %v, got %v", want.Evicted, r.evicted)
	}
	return nil
}

func (r *lruRun) completeStore(op lruOp) error {
	var failure error
	if !op.OK {
		failure = fmt.Errorf("as told")
	}
	for _, key := range op.Keys {
		w, ok := r.writes[key]
		if !ok || w.req != op.Req {
			continue // not being written by this request: ignored
		}
		delete(r.writes, key)
		if err := w.job.Done(w.at, failure); err != nil {
			return err
		}
	}
	return nil
}

// prepareLoad claims for longer than the request may live: in a trace a claim lasts
// until complete_load.
func (r *lruRun) prepareLoad(req *lruRequest, op lruOp) error {
	claim, err := req.Claim(lruKeys(op.Keys), req.endsOf(op.Keys))
	if err != nil {
		return err
	}
	if claim, err = claim.Detach(); err != nil {
		return err
	}
	req.claims = append(req.claims, lruClaim{op.Keys, claim})
	return nil
}

func (r *lruRun) completeLoad(req *lruRequest, op lruOp) error {
	for i, c := range req.claims {
		if slices.Equal(c.keys, op.Keys) {
			req.claims = slices.Delete(req.claims, i, i+1)
			return c.claim.Release()
		}
	}
	return fmt.Errorf("nothing was loaded by %v", op.Keys)
}

// endsOf returns what is known of where keys end, zero for unknown.
func (r *lruRequest) endsOf(keys []int) []int {
	ends := make([]int, len(keys))
	for i, key := range keys {
		ends[i] = r.ends[key]
	}
	return ends
}

func lruKey(n int) lookup.Key { return lookup.KeyFrom64(uint64(n), 0) }

func lruKeys(numbers []int) []lookup.Key {
	keys := make([]lookup.Key, len(numbers))
	for i, n := range numbers {
		keys[i] = lruKey(n)
	}
	return keys
}

func lruNumber(k lookup.Key) int {
	n := 0
	for _, b := range k.Hash[:8] {
		n = n<<8 | int(b)
	}
	return n
}
