package arrows

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	module     = "github.com/kvoffload/kvoffload"
	prometheus = "github.com/prometheus/"
	testify    = "github.com/stretchr/testify"
	clock      = "github.com/benbjohnson/clock"
)

// allowed says what the packages that users build on may import, besides the standard
// library. A package counts with the folders below it; the longest name decides.
var allowed = map[string][]string{
	"lookup":              {},
	"policy":              {"lookup"},
	"tiering":             {"lookup", "policy", "tiering/internal", "internal/invariants", clock},
	"tiering/internal":    {"lookup"},
	"tiering/tieringtest": {"lookup", "tiering", clock, testify},
	"metrics":             {"lookup", "policy", "tiering", prometheus},
	"internal/invariants": {},
}

// fault says what is wrong with an import by a file of a package, or nothing.
func fault(pkg, imported string, test bool) string {
	outside := strings.Contains(strings.SplitN(imported, "/", 2)[0], ".")
	local, isLocal := strings.CutPrefix(imported, module+"/")
	switch {
	case imported == "C" && !within(pkg, "examples"):
		return "a C compiler must not be needed"
	case !outside:
		return ""
	case within(imported, testify) && !test && !isTestPackage(pkg):
		return "testify is for tests and ...test packages"
	case isLocal && isTestPackage(local) && !test && !isTestPackage(pkg) && !within(pkg, "examples"):
		return "a ...test package is for tests and examples"
	case isLocal && within(local, "examples") && !within(pkg, "examples"):
		return "nothing imports an example"
	case strings.HasPrefix(imported, prometheus) && !within(pkg, "metrics") && !within(pkg, "examples"):
		return "only metrics imports Prometheus"
	case test:
		return ""
	}
	list, ruled := ruleFor(pkg)
	if !ruled {
		return ""
	}
	for _, a := range list {
		if within(imported, a) || strings.HasSuffix(a, "/") && strings.HasPrefix(imported, a) || isLocal && within(local, a) {
			return ""
		}
	}
	return "not among what it may import"
}

func ruleFor(pkg string) (list []string, ok bool) {
	for p := pkg; p != "."; p = path.Dir(p) {
		if list, ok = allowed[p]; ok {
			return list, true
		}
	}
	return nil, false
}

func within(pkg, folder string) bool { return pkg == folder || strings.HasPrefix(pkg, folder+"/") }

func isTestPackage(pkg string) bool { return strings.HasSuffix(path.Base(pkg), "test") }

const root = "../.."

// Files are parsed, not built, so that those of other systems and tags count too.
func TestArrowsPointOneWay(t *testing.T) {
	seen := 0
	require.NoError(t, filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != ".." {
			if d != nil && d.IsDir() {
				return fs.SkipDir
			}
			return err
		}
		if d.IsDir() && d.Name() == "testdata" {
			return fs.SkipDir
		}
		if !strings.HasSuffix(file, ".go") {
			return nil
		}
		seen++
		rel, err := filepath.Rel(root, filepath.Dir(file))
		require.NoError(t, err)
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		require.NoError(t, err)
		for _, i := range parsed.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			require.NoError(t, err)
			if f := fault(filepath.ToSlash(rel), name, strings.HasSuffix(file, "_test.go")); f != "" {
				t.Errorf("%s imports %s: %s", file, name, f)
			}
		}
		return nil
	}))
	require.Greater(t, seen, 50)
}

func TestFaultFindsEachKind(t *testing.T) {
	for _, c := range []struct {
		pkg, imported string
		test          bool
		fault         string
	}{
		{"lookup", "time", false, ""},
		{"lookup", "C", false, "C compiler"},
		{"lookup", "golang.org/x/exp/slices", false, "may import"},
		{"lookup", module + "/policy", false, "may import"},
		{"lookup", clock, false, "may import"},
		{"policy", module + "/lookup", false, ""},
		{"policy", clock, false, "may import"},
		{"policy", module + "/tiering", false, "may import"},
		{"tiering", module + "/lookup", false, ""},
		{"tiering", module + "/policy", false, ""},
		{"tiering", module + "/policytest", false, "test package"},
		{"tiering", module + "/examples/replay", false, "example"},
		{"tiering", module + "/metrics", false, "may import"},
		{"tiering", module + "/internal/sim", false, "may import"},
		{"tiering", prometheus + "client_golang/prometheus", false, "only metrics"},
		{"tiering", prometheus + "client_golang/prometheus", true, "only metrics"},
		{"tiering", clock, false, ""},
		{"tiering", testify + "/require", false, "testify"},
		{"tiering", testify + "/require", true, ""},
		{"tiering/tieringtest", testify + "/require", false, ""},
		{"tiering/internal/pool", module + "/tiering", false, "may import"},
		{"metrics", prometheus + "client_golang/prometheus", false, ""},
		{"metrics", module + "/tiering", false, ""},
		{"metrics", clock, false, "may import"},
		{"internal/sim", testify + "/require", false, "testify"},
		{"internal/sim", prometheus + "client_golang/prometheus", false, "only metrics"},
		{"metrics", module + "/tiering/tieringtest", false, "test package"},
		{"examples/replay", module + "/tiering/tieringtest", false, ""},
		{"internal/sim", module + "/examples/replay", false, "example"},
	} {
		got := fault(c.pkg, c.imported, c.test)
		if c.fault == "" {
			require.Empty(t, got, c)
		} else {
			require.Contains(t, got, c.fault, "%v", c)
		}
	}
}

func TestRootModuleHasThreeDirectDependencies(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	var direct []string
	for _, m := range regexp.MustCompile(`(?m)^(?:require )?\s*([a-z0-9.]+/\S+) v\S+( // indirect)?$`).FindAllStringSubmatch(string(text), -1) {
		if m[2] == "" {
			direct = append(direct, m[1])
		}
	}
	slices.Sort(direct)
	require.Equal(t, []string{clock, prometheus + "client_golang", testify}, direct)
}
