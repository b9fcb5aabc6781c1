package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func replayed(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = run(context.Background(), args, &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

func TestTableIsDeterministic(t *testing.T) {
	code, first, errs := replayed(t, "-requests", "200")
	require.Zero(t, code, errs)
	_, second, _ := replayed(t, "-requests", "200")
	require.Equal(t, first, second)
	for _, name := range policyNames {
		require.Contains(t, first, "\n"+leftPad(name, 17))
	}
	require.Contains(t, first, "0.70 of the device's prefill")
	require.Empty(t, errs)
}

func leftPad(s string, n int) string {
	for len(s) < n {
		s = " " + s
	}
	return s
}

func TestJSON(t *testing.T) {
	code, out, errs := replayed(t, "-json", "-requests", "150", "-policies", "never,deadline", "-preset", "host")
	require.Zero(t, code, errs)
	var doc struct {
		Policies []map[string]any `json:"policies"`
	}
	require.NoError(t, json.Unmarshal([]byte(out), &doc))
	require.Len(t, doc.Policies, 2)
	for i, name := range []string{"never", "deadline"} {
		p := doc.Policies[i]
		require.Equal(t, name, p["name"])
		require.EqualValues(t, 150, p["requests"])
		require.Contains(t, p["wait_ms"], "p99")
		for _, field := range []string{"max_wait_ms", "waited", "loaded_tokens", "recomputed_tokens", "lookups"} {
			require.IsType(t, 0.0, p[field], field)
		}
		ttft := p["ttft_ms"].(map[string]any)
		require.Positive(t, ttft["mean"])
		require.LessOrEqual(t, ttft["p50"], ttft["p90"])
		require.LessOrEqual(t, ttft["p90"], ttft["p99"])
	}
}

func TestTraceFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.jsonl")
	line := `{"timestamp": 0, "input_length": 1100, "output_length": 3, "hash_ids": [1, 2, 3]}` + "\n"
	require.NoError(t, os.WriteFile(path, []byte(line+line+line), 0o600))
	code, out, errs := replayed(t, "-trace", path, "-limit", "2", "-speed", "1")
	require.Zero(t, code, errs)
	require.Contains(t, out, "trace: 2 requests, arrivals x 1:")
}

// A trace whose clock is coarse is played as it says, with a note, or spread.
func TestCoarseClock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.jsonl")
	var lines bytes.Buffer
	for i := range 40 {
		fmt.Fprintf(&lines, `{"timestamp": %d, "input_length": 6000, "output_length": 3, "hash_ids": [`, i/10*3000)
		for block := range 12 {
			fmt.Fprintf(&lines, "%d,", 100*i+block)
		}
		lines.Truncate(lines.Len() - 1)
		lines.WriteString("]}\n")
	}
	require.NoError(t, os.WriteFile(path, lines.Bytes(), 0o600))
	var p99 []float64
	for _, args := range [][]string{{"-trace", path}, {"-trace", path, "-spread"}} {
		code, out, errs := replayed(t, args...)
		require.Zero(t, code, errs)
		require.Equal(t, len(args) == 2, strings.Contains(out, "10.0 requests have the same time"))
		_, out, _ = replayed(t, append(args, "-json")...)
		var doc jsonOutput
		require.NoError(t, json.Unmarshal([]byte(out), &doc))
		require.Equal(t, len(args) == 3, doc.Spread)
		p99 = append(p99, doc.Policies[0].TTFT.P99)
	}
	require.Less(t, p99[1], p99[0]/2)
}

func TestBadInputIsAClearError(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.jsonl")
	require.NoError(t, os.WriteFile(bad, []byte("{\"timestamp\": 0}\n"), 0o600))
	long := filepath.Join(t.TempDir(), "long.jsonl")
	line := `{"timestamp": 0, "input_length": 100, "output_length": 999999, "hash_ids": [1]}`
	require.NoError(t, os.WriteFile(long, []byte(line), 0o600))
	for want, args := range map[string][]string{
		"number 1 of the workload needs 1954 blocks, there are 768":      {"-trace", long},
		`-preset "moon" is not known, there are backlog, host, tiered`:   {"-preset", "moon"},
		`policy "maybe" is not known, there are always, never`:           {"-policies", "always,maybe"},
		"-speed is -1, want 0.001 to 1e+06, or 0 for the default":        {"-speed", "-1"},
		"-speed is 1e-12, want 0.001":                                    {"-speed", "1e-12"},
		"-speed is NaN":                                                  {"-speed", "NaN"},
		"-limit is -1, want 0 or more":                                   {"-limit", "-1"},
		"-budget is -5, want 0 or more":                                  {"-budget", "-5"},
		"-requests is 0, want 1 to":                                      {"-requests", "0"},
		`unexpected argument "trace.jsonl"`:                              {"trace.jsonl"},
		"flag provided but not defined: -x":                              {"-x"},
		"no such file":                                                   {"-trace", "does-not-exist"},
		"bad.jsonl: sim: invalid trace: line 1: input_length is missing": {"-trace", bad},
	} {
		code, out, errs := replayed(t, args...)
		require.Equal(t, exitUsage, code, args)
		require.Contains(t, errs, want)
		require.Empty(t, out)
	}
	code, _, errs := replayed(t, "-help")
	require.Zero(t, code)
	require.Contains(t, errs, "-preset")
}

// What the policies are for, on the generated workload: with a deadline no wait is
// longer than that, and without one some are, when stores queue.
func TestDeadlineBoundsTheWaitsOfABacklog(t *testing.T) {
	code, out, errs := replayed(t, "-json", "-preset", "backlog", "-requests", "1500", "-speed", "1", "-policies", "always,deadline,budget+deadline")
	require.Zero(t, code, errs)
	var doc jsonOutput
	require.NoError(t, json.Unmarshal([]byte(out), &doc))
	always, deadline, both := doc.Policies[0], doc.Policies[1], doc.Policies[2]
	require.Greater(t, always.MaxWait, 10_000.0)
	require.LessOrEqual(t, deadline.MaxWait, 10_100.0)
	require.LessOrEqual(t, both.MaxWait, 10_100.0)
	require.Less(t, deadline.TTFT.P99, always.TTFT.P99)
}
