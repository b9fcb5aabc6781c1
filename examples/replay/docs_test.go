package main

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// docs/replay.md shows what `make demo` prints.
func TestDocsShowWhatTheDemoPrints(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("other processors round differently")
	}
	text, err := os.ReadFile("../../docs/replay.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), "`make demo`")
	require.True(t, found)
	code, out, errs := replayed(t)
	require.Zero(t, code, errs)
	printed := make(map[string]string)
	for _, line := range strings.Split(out, "\n") {
		if words := strings.Fields(line); len(words) > 0 {
			printed[words[0]] = strings.Join(words, " ")
		}
	}
	rows := 0
	for _, line := range strings.Split(section, "\n") {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if len(cells) != 9 || printed[cells[0]] == "" || cells[0] == "policy" {
			continue
		}
		rows++
		require.True(t, strings.HasPrefix(printed[cells[0]], strings.Join(cells, " ")), "%s\n%s", line, printed[cells[0]])
	}
	require.Equal(t, len(policyNames), rows)
}
