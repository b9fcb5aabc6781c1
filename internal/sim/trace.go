package sim

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// ErrTrace is wrapped by every error about a trace's content.
var ErrTrace = errors.New("sim: invalid trace")

// Bounds of a trace, far above any real one: they keep a wrong file from taking all
// memory.
const (
	maxLine     = 16 << 20
	maxTokens   = 16 << 20
	maxRequests = 10_000_000
	maxBlocks   = 100_000_000 // of all requests
	maxArrival  = int64(366 * 24 * time.Hour / time.Millisecond)
)

type traceLine struct {
	Timestamp *float64 `json:"timestamp"`
	Input     *int     `json:"input_length"`
	Output    *int     `json:"output_length"`
	Blocks    []uint64 `json:"hash_ids"`
}

// ReadTrace reads a trace in Mooncake's format, one JSON object a line: timestamp (ms
// from the start), input_length and output_length (tokens), hash_ids (one for each
// block of 512 tokens of the prompt). limit, if above zero, stops after so many
// requests. Lines must be in the order of their timestamps; an error says which line
// is wrong and why, and wraps [ErrTrace].
func ReadTrace(r io.Reader, limit int) ([]Request, error) {
	if limit <= 0 || limit > maxRequests {
		limit = maxRequests
	}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	var list []Request
	n, blocks := 0, 0
	for len(list) < limit && lines.Scan() {
		n++
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		request, err := parseLine(line)
		if err == nil && len(list) > 0 && request.Arrival < list[len(list)-1].Arrival {
			err = errors.New("timestamp is before that of the line above")
		}
		if blocks += len(request.Blocks); err == nil && blocks > maxBlocks {
			err = fmt.Errorf("hash_ids: more than %d in all", maxBlocks)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", ErrTrace, n, err)
		}
		list = append(list, request)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%w: line %d: %w", ErrTrace, n+1, err)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%w: no requests", ErrTrace)
	}
	return list, nil
}

func parseLine(line []byte) (Request, error) {
	var t traceLine
	if err := json.Unmarshal(line, &t); err != nil {
		return Request{}, err
	}
	switch {
	case t.Timestamp == nil:
		return Request{}, errors.New("timestamp is missing")
	case !(*t.Timestamp >= 0 && *t.Timestamp <= float64(maxArrival)):
		return Request{}, fmt.Errorf("timestamp is %v, want 0 to %d", *t.Timestamp, maxArrival)
	case t.Input == nil:
		return Request{}, errors.New("input_length is missing")
	case *t.Input < 1 || *t.Input > maxTokens:
		return Request{}, fmt.Errorf("input_length is %d, want 1 to %d", *t.Input, maxTokens)
	case t.Output == nil:
		return Request{}, errors.New("output_length is missing")
	case *t.Output < 0 || *t.Output > maxTokens:
		return Request{}, fmt.Errorf("output_length is %d, want 0 to %d", *t.Output, maxTokens)
	case len(t.Blocks) != blocksFor(*t.Input):
		return Request{}, fmt.Errorf("hash_ids has %d ids, %d tokens have %d blocks", len(t.Blocks), *t.Input, blocksFor(*t.Input))
	}
	if id, twice := repeated(t.Blocks); twice {
		return Request{}, fmt.Errorf("hash_ids has %d twice, but equal ids are equal prefixes", id)
	}
	return Request{
		Arrival: time.Duration(*t.Timestamp * float64(time.Millisecond)),
		Input:   *t.Input, Output: *t.Output, Blocks: t.Blocks,
	}, nil
}

// repeated returns an id that a list has twice.
func repeated(ids []uint64) (uint64, bool) {
	sorted := slices.Sorted(slices.Values(ids))
	for i := 1; i < len(sorted); i++ {
		if sorted[i] == sorted[i-1] {
			return sorted[i], true
		}
	}
	return 0, false
}
