package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// expected names, by kind of file, the members of a case that are answers. In "*"
// every element of a list is meant.
var expected = map[string][]string{
	"prefix": {"want", "lookups"},
	"window": {"want", "lookups"},
	"hybrid": {"want", "lookups"},
	"tail":   {"want"},
	"lru":    {"ops.*.want", "ops.*.st", "final.recency", "final.evict_order"},
}

// TestRunnersNotice changes each expected value of each case, one at a time, and
// wants exactly that case to fail: a runner that compares too little would pass.
func TestRunnersNotice(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.jsonl"))
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, file := range files {
		kind := kindOf(filepath.Base(file))
		seen[kind] = true
		t.Run(filepath.Base(file), func(t *testing.T) {
			lines := readLines(t, file)
			for n := 1; n < len(lines); n++ {
				for what, changed := range mutations(t, kind, lines[n]) {
					requireOneFailure(t, file, lines, n, what, changed)
				}
			}
		})
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(runners)), slices.Collect(maps.Keys(seen)),
		"each kind has a file in testdata")
}

func requireOneFailure(t *testing.T, file string, lines [][]byte, n int, what string, changed []byte) {
	t.Helper()
	copied := slices.Clone(lines)
	copied[n] = changed
	path := filepath.Join(t.TempDir(), filepath.Base(file))
	require.NoError(t, os.WriteFile(path, bytes.Join(copied, []byte("\n")), 0o600))
	rep, err := RunFile(path)
	require.NoError(t, err)
	require.Len(t, rep.Failures, 1, "%s in %s", what, changed)
	require.Equal(t, rep.Cases-1, rep.Passed)
	f := rep.Failures[0]
	require.Equal(t, fmt.Sprintf("%s:%d", filepath.Base(file), n+1), f.Where)
	require.NotEmpty(t, f.ID)
	require.Equal(t, string(changed), f.Input)
}

func readLines(t *testing.T, file string) [][]byte {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	return bytes.Split(bytes.TrimSpace(data), []byte("\n"))
}

// mutations returns copies of a case with one expected value changed, by what was
// changed.
func mutations(t *testing.T, kind string, line []byte) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for _, path := range expected[kind] {
		var c any
		require.NoError(t, json.Unmarshal(line, &c))
		each(c, strings.Split(path, "."), path, func(what string, set func(any), was any) {
			for _, now := range others(kind, what, was) {
				set(now)
				changed, err := json.Marshal(c)
				require.NoError(t, err)
				all[fmt.Sprintf("%s: %v for %v", what, now, was)] = changed
				set(was)
			}
		})
	}
	require.NotEmpty(t, all)
	return all
}

// each visits what a path leads to.
func each(c any, path []string, what string, visit func(string, func(any), any)) {
	object, isObject := c.(map[string]any)
	list, isList := c.([]any)
	switch {
	case isList && path[0] == "*":
		for i := range list {
			each(list[i], path[1:], fmt.Sprintf("%s[%d]", what, i), visit)
		}
	case isObject && len(path) > 1:
		each(object[path[0]], path[1:], what, visit)
	case isObject && object[path[0]] != nil:
		was := object[path[0]]
		visit(what, func(v any) { object[path[0]] = v }, was)
	}
}

// others returns wrong values instead of a right one.
func others(kind, what string, was any) []any {
	switch v := was.(type) {
	case string:
		return []any{map[string]string{"hit": "miss", "miss": "pending", "pending": "hit"}[v], "nonsense"}
	case float64:
		if kind == "hybrid" { // fewer lookups than a file says are as good
			return []any{v - 1}
		}
		return []any{v + 1, v - 1}
	case []any:
		if strings.Contains(what, ".st[") { // always three counts
			return otherElements(v)
		}
		return otherLists(v)
	case map[string]any:
		return otherWants(kind, v)
	}
	panic(fmt.Sprintf("%s is a %T", what, was))
}

func otherElements(v []any) []any {
	var all []any
	for i := range v {
		changed := slices.Clone(v)
		changed[i] = v[i].(float64) + 50
		all = append(all, changed)
	}
	return all
}

func otherLists(v []any) []any {
	all := append(otherElements(v), append(slices.Clone(v), 99.0))
	for i := range v {
		all = append(all, slices.Delete(slices.Clone(v), i, i+1))
	}
	if len(v) > 1 {
		swapped := slices.Clone(v)
		swapped[0], swapped[1] = v[1], v[0]
		if !slices.Equal(swapped, v) {
			all = append(all, swapped)
		}
	}
	return all
}

func otherWants(kind string, v map[string]any) []any {
	answer := map[string]string{"prefix": "blocks", "window": "end", "hybrid": "tokens", "tail": "tokens"}[kind]
	var all []any
	for name, was := range v {
		changed := maps.Clone(v)
		switch w := was.(type) {
		case float64:
			changed[name] = w + 1
		case bool: // a wait, or a full pool, that should have been an answer
			changed = map[string]any{answer: 1.0, "store": []any{1.0}, "evicted": []any{}}
		case []any:
			for _, other := range otherLists(w) {
				again := maps.Clone(v)
				again[name] = other
				all = append(all, again)
			}
			changed = map[string]any{"full": true}
		case nil:
			changed[name] = 4.0
		}
		all = append(all, changed)
	}
	if _, isAnswer := v[answer]; isAnswer && kind != "lru" {
		all = append(all, map[string]any{"wait": true}, map[string]any{})
	}
	return all
}
