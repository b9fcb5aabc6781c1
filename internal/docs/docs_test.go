package docs

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every Go block in README.md and docs is a whole program. It is compiled and run, and
// prints what the text block after it says.

const root = "../.."

var fence = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")

type block struct{ language, text string }

func blocksOf(t *testing.T, file string) []block {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var blocks []block
	for _, m := range fence.FindAllStringSubmatch(string(text), -1) {
		blocks = append(blocks, block{m[1], m[2]})
	}
	return blocks
}

func files(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	require.NoError(t, err)
	return append(list, filepath.Join(root, "README.md"))
}

func TestProgramsInDocsRunAndPrintWhatTheySay(t *testing.T) {
	n := 0
	for _, file := range files(t) {
		blocks := blocksOf(t, file)
		for i, b := range blocks {
			if b.language != "go" {
				continue
			}
			n++
			t.Run(fmt.Sprintf("%s/%d", filepath.Base(file), i), func(t *testing.T) {
				require.True(t, strings.HasPrefix(b.text, "package main\n"), "a Go block is a whole program")
				require.Less(t, i+1, len(blocks))
				require.Equal(t, "text", blocks[i+1].language, "what it prints follows")
				require.Equal(t, blocks[i+1].text, run(t, b.text))
			})
		}
	}
	require.NotZero(t, n)
}

// run compiles a program as if it were in a folder of the module, and runs it.
func run(t *testing.T, program string) string {
	t.Helper()
	module, err := filepath.Abs(root)
	require.NoError(t, err)
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	require.NoError(t, os.WriteFile(source, []byte(program), 0o600))
	overlay, err := json.Marshal(map[string]map[string]string{
		"Replace": {filepath.Join(module, "examples", "indocs", "main.go"): source},
	})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600))
	cmd := exec.Command("go", "run", "-overlay", filepath.Join(dir, "overlay.json"), "./examples/indocs")
	cmd.Dir = module
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

var link = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)

func TestLinksInDocsLeadSomewhere(t *testing.T) {
	for _, file := range files(t) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			_, err := os.Stat(filepath.Join(filepath.Dir(file), m[1]))
			require.NoError(t, err, "%s: %s", file, m[1])
		}
	}
}

var named = regexp.MustCompile("`(Test[A-Za-z0-9_]+|Benchmark[A-Za-z0-9_]+|Fuzz[A-Za-z0-9_]+)`")

// Docs name tests as proof: they must exist.
func TestTestsNamedInDocsExist(t *testing.T) {
	have := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz)[A-Za-z0-9_]+)\(`)
	require.NoError(t, filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
			have[m[1]] = true
		}
		return err
	}))
	for _, file := range files(t) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			require.True(t, have[m[1]], "%s names %s", file, m[1])
		}
	}
}
