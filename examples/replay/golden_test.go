package main

import (
	"flag"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write what is printed to testdata")

// A small replay of each preset, as it was: with -update, as it is.
func TestGolden(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("other processors round differently")
	}
	for preset, speed := range map[string]string{"tiered": "0.6", "backlog": "1", "host": "1"} {
		code, out, errs := replayed(t, "-requests", "600", "-seed", "5", "-preset", preset, "-speed", speed)
		require.Zero(t, code, errs)
		file := "testdata/" + preset + ".txt"
		if *update {
			require.NoError(t, os.WriteFile(file, []byte(out), 0o666))
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, string(want), out, preset)
	}
}
