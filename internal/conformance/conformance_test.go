package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// variable names the folder of vectors to run.
const variable = "KVOFFLOAD_VECTORS"

func TestVectors(t *testing.T) {
	root := moduleRoot(t)
	folder := os.Getenv(variable)
	if folder == "" {
		folder = filepath.Join(root, "..", "shared", "vectors")
		if _, err := os.Stat(folder); err != nil {
			t.Skipf("no %s; set %s to run vectors", folder, variable)
		}
	} else {
		folder = resolve(t, root, folder)
	}
	runAndReport(t, folder)
}

// TestOwnVectors runs the files kept beside this one, written by hand.
func TestOwnVectors(t *testing.T) { runAndReport(t, "testdata") }

func runAndReport(t *testing.T, folder string) {
	t.Helper()
	reports, err := RunFolder(folder)
	for _, r := range reports {
		fmt.Println(r)
		for i, f := range r.Failures {
			if i == 20 {
				t.Errorf("%s: %d more failures", r.File, len(r.Failures)-i)
				break
			}
			t.Error(f)
		}
	}
	require.NoError(t, err)
}

// resolve finds a folder given relative to the project's root or to this one.
func resolve(t *testing.T, root, folder string) string {
	t.Helper()
	if filepath.IsAbs(folder) {
		return folder
	}
	fromRoot := filepath.Join(root, folder)
	for _, candidate := range []string{fromRoot, folder} {
		if _, err := os.Stat(candidate); err == nil {
			return candidate
		}
	}
	t.Fatalf("%s=%s: found neither from the project's root (%s) nor from the package's folder", variable, folder, fromRoot)
	return ""
}

// moduleRoot is the nearest folder upwards that has a go.mod.
func moduleRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	require.NoError(t, err)
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		require.NotEqual(t, up, dir, "no go.mod above the test's folder")
		dir = up
	}
}
