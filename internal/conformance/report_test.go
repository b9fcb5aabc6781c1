package conformance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	doc  = `{"doc": {"scan": "prefix"}}`
	good = `{"id":"a","results":["hit"],"tokens_per_block":16,"budget_tokens":0,"want":{"blocks":1},"lookups":1}`
)

func write(t *testing.T, name string, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	return path
}

func TestReportLine(t *testing.T) {
	rep, err := RunFile(write(t, "prefix.jsonl", doc, good, "", strings.Replace(good, `"blocks":1`, `"blocks":2`, 1)))
	require.NoError(t, err)
	require.Equal(t, "vectors prefix.jsonl: 2 cases, 1 passed", rep.String())
	require.Len(t, rep.Failures, 1)
	require.Contains(t, rep.Failures[0].String(), `prefix.jsonl:4: case "a":`)
	require.Contains(t, rep.Failures[0].String(), "want 2, got 1")
	require.Contains(t, rep.Failures[0].String(), `input: {"id":"a"`)
}

func TestReportSaysWhatIsSkipped(t *testing.T) {
	was := runners["lru"]
	runners["lru"] = nil
	defer func() { runners["lru"] = was }()
	rep, err := RunFile(write(t, "lru.jsonl", `{"doc": {}}`))
	require.NoError(t, err)
	require.Equal(t, "vectors lru.jsonl: skipped, no runner for kind lru", rep.String())
}

// TestBadCases: a case that can't be understood fails, whatever it may have meant.
func TestBadCases(t *testing.T) {
	for name, c := range map[string]struct{ line, err string }{
		"no JSON":        {`{"id":"a",`, "unexpected end of JSON"},
		"no object":      {`[]`, "cannot unmarshal"},
		"no results":     {strings.Replace(good, `"results"`, `"x"`, 1), `no "results"`},
		"no want":        {strings.Replace(good, `"want"`, `"x"`, 1), `no "want"`},
		"empty want":     {strings.Replace(good, `{"blocks":1}`, `{}`, 1), "neither"},
		"two wants":      {strings.Replace(good, `{"blocks":1}`, `{"blocks":1,"wait":true}`, 1), "neither"},
		"other want":     {strings.Replace(good, `{"blocks":1}`, `{"end":1}`, 1), "neither"},
		"no lookups":     {strings.Replace(good, `"lookups"`, `"x"`, 1), `no "lookups"`},
		"unknown answer": {strings.Replace(good, `"hit"`, `"maybe"`, 1), `unknown answer "maybe"`},
		"null answer":    {strings.Replace(good, `"hit"`, `null`, 1), "want 1, got 0"},
	} {
		t.Run(name, func(t *testing.T) {
			rep, err := RunFile(write(t, "prefix.jsonl", doc, good, c.line))
			require.NoError(t, err)
			require.Equal(t, 1, rep.Passed)
			require.Len(t, rep.Failures, 1)
			require.Equal(t, "prefix.jsonl:3", rep.Failures[0].Where)
			require.ErrorContains(t, rep.Failures[0].Err, c.err)
		})
	}
}

// TestBadFiles: a file that can't be run is an error, not a file with no failures.
func TestBadFiles(t *testing.T) {
	for name, c := range map[string]struct {
		path, err string
	}{
		"unknown kind":  {write(t, "suffix.jsonl", doc, good), `unknown kind of file "suffix"`},
		"empty":         {write(t, "prefix.jsonl"), "line 1"},
		"only a doc":    {write(t, "prefix.jsonl", doc), "no cases"},
		"no doc":        {write(t, "prefix.jsonl", good, good), "line 1 is not"},
		"doc malformed": {write(t, "prefix.jsonl", `{"doc": `, good), "line 1"},
		"absent":        {filepath.Join(t.TempDir(), "prefix.jsonl"), "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := RunFile(c.path)
			require.ErrorContains(t, err, c.err)
			if name != "absent" {
				_, err = RunFolder(filepath.Dir(c.path))
				require.ErrorContains(t, err, c.err)
			}
		})
	}
	_, err := RunFolder(t.TempDir())
	require.ErrorContains(t, err, "no .jsonl file")
}

func TestKindOf(t *testing.T) {
	for file, kind := range map[string]string{
		"prefix.jsonl": "prefix", "prefix-small.jsonl": "prefix", "prefix2.jsonl": "prefix", "lru": "lru", ".jsonl": "",
	} {
		require.Equal(t, kind, kindOf(file), file)
	}
}
