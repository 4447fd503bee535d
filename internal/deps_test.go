package internal_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// layers are the packages of doc.go's map, top to bottom: a package may import packages of its
// own layer and of those below. A name covers the packages below it.
func layers(t *testing.T) (all [][]string) {
	t.Helper()
	text, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	_, list, found := strings.Cut(string(text), "# The packages, in layers")
	require.True(t, found)
	for _, m := range regexp.MustCompile(`(?m)^//\t(?:([A-Z][a-z ]+)$|([a-z][a-z/, ]*?)  )`).FindAllStringSubmatch(list, -1) {
		if m[1] != "" {
			all = append(all, nil)
			continue
		}
		all[len(all)-1] = append(all[len(all)-1], strings.Split(m[2], ", ")...)
	}
	require.Len(t, all, 8)
	return all
}

// rooms are the packages of commands, which do not import each other but as roomAllowed says.
var rooms = regexp.MustCompile(`^cli/[a-z]+cmd$`)

var roomAllowed = []string{
	"cli/rulescmd cli/autocmd",   // a search that a rule asked for ends with piton auto's line
	"cli/recordcmd cli/watchcmd", // a record is printed as samples are
}

// commandLibrary may be imported by cli, the packages below it and lab only, screenLibraries by
// cli and tui.
const commandLibrary = "github.com/spf13/cobra"

var screenLibraries = []string{"charm.land/bubbletea/", "charm.land/lipgloss/", "charm.land/bubbles/"}

// imports returns what the non-test files of each package of the module import.
func imports(t *testing.T) map[string][]string {
	t.Helper()
	out, err := exec.Command("go", "list", "-f", "{{.ImportPath}}:{{range .Imports}} {{.}}{{end}}", "piton/...").Output()
	require.NoError(t, err, "go list")
	all := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		name, rest, ok := strings.Cut(strings.TrimSpace(line), ":")
		require.True(t, ok, line)
		all[name] = strings.Fields(rest)
	}
	require.Greater(t, len(all), 10, "go list found the packages")
	return all
}

// layerOf returns a package's layer and the name it goes by there, or -1.
func layerOf(layers [][]string, path string) (layer int, name string) {
	rest, ok := strings.CutPrefix(path, "piton/internal/")
	layer = -1
	for i, names := range layers {
		for _, n := range names {
			if ok && strings.HasPrefix(rest+"/", n+"/") && len(n) > len(name) {
				layer, name = i, n
			}
		}
	}
	return layer, name
}

func TestImportsPointDown(t *testing.T) {
	all := layers(t)
	for pkg, imported := range imports(t) {
		from, fromName := layerOf(all, pkg)
		if strings.HasPrefix(pkg, "piton/internal/") {
			assert.GreaterOrEqual(t, from, 0, "doc.go has no line for %s", pkg)
		}
		for _, imp := range imported {
			to, toName := layerOf(all, imp)
			if from < 0 || to < 0 || fromName == toName {
				continue
			}
			assert.LessOrEqual(t, from, to, "%s imports %s, which is in a layer above it", pkg, imp)
			if rooms.MatchString(fromName) && rooms.MatchString(toName) {
				assert.Contains(t, roomAllowed, fromName+" "+toName)
			}
		}
	}
}

func TestOnlyKernelCallsTheKernel(t *testing.T) {
	for pkg, imported := range imports(t) {
		switch pkg {
		case "piton/internal/kernel", "piton/internal/lab/netns", "piton/internal/kernel/tree":
			assert.Contains(t, imported, "golang.org/x/sys/unix")
			continue
		case "piton/internal/bpf/bpftest": // takes a test's rights away
			continue
		}
		assert.NotContains(t, imported, "golang.org/x/sys/unix", pkg)
	}
}

func TestScreenLibrariesStayOnTop(t *testing.T) {
	mayDraw := map[string]bool{"cli": true, "tui": true, "tuitest": true}
	all := layers(t)
	for pkg, imported := range imports(t) {
		_, name := layerOf(all, pkg)
		for _, imp := range imported {
			inCLI := strings.HasPrefix(name+"/", "cli/") || name == "lab" // which adds commands
			assert.False(t, !inCLI && strings.HasPrefix(imp, commandLibrary), "%s imports %s", pkg, imp)
			for _, lib := range screenLibraries {
				assert.False(t, !mayDraw[name] && strings.HasPrefix(imp, lib), "%s imports %s", pkg, imp)
			}
		}
	}
}

// wing are the libraries that only the laboratory may import.
var wing = []string{"github.com/vishvananda/netlink", "github.com/safchain/ethtool"}

// TestHouseStandsAlone holds what piton does apart from the laboratory: it needs nothing of it.
// The laboratory is put beside the house where a program is put together.
func TestHouseStandsAlone(t *testing.T) {
	var house []string
	for pkg := range imports(t) {
		together := pkg == "piton/cmd/piton" || pkg == "piton/internal/cli/manpages"
		if !together && !strings.HasPrefix(pkg+"/", "piton/internal/lab/") {
			house = append(house, pkg)
		}
	}
	out, err := exec.Command("go", append([]string{"list", "-deps"}, house...)...).Output()
	require.NoError(t, err, "go list -deps")
	for dep := range strings.Lines(string(out)) {
		for _, path := range append([]string{"piton/internal/lab"}, wing...) {
			assert.False(t, strings.HasPrefix(strings.TrimSpace(dep)+"/", path+"/"), "the house imports %s", dep)
		}
	}
}

// TestWorkloadsMeasure holds workloads below what places and judges them: they read
// the machine and set the mapping that is their own subject, and change nothing else.
func TestWorkloadsMeasure(t *testing.T) {
	all := layers(t)
	for pkg, imported := range imports(t) {
		if !strings.HasPrefix(pkg, "piton/workloads") {
			continue
		}
		for _, imp := range imported {
			if to, _ := layerOf(all, imp); to >= 0 {
				top, _ := layerOf(all, "piton/internal/sample")
				assert.GreaterOrEqual(t, to, top, "%s imports %s, which is above what a workload may ask for", pkg, imp)
			}
		}
	}
}
