package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOutput(t *testing.T) {
	want, err := os.ReadFile("testdata/output.txt")
	require.NoError(t, err)
	var out strings.Builder
	require.NoError(t, run(&out))
	require.Equal(t, string(want), out.String())
}
