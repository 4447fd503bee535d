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

// layers are the packages below piton/internal, top to bottom: a package may
// import packages of lower layers, and of its own layer only where allowed says
// so. A name covers the packages below it.
var layers = [][]string{
	{"cli", "cost", "dev"},
	{"lab"},
	{"cli/tunecmd", "cli/irqcmd", "cli/profilecmd", "cli/rulescmd", "cli/watchcmd", "cli/benchcmd", "cli/autocmd"},
	{"cli/changes"},
	{"cli/app"},
	{"cli/output"},
	{"cli/flags"},
	{"cli/exit"},
	{"cli/config"},
	{"demo"},
	{"tui", "tuitest"},
	{"rules/daemon"},
	{"rules"},
	{"action"},
	{"profile", "paper"},
	{"auto"},
	{"report"},
	{"change/guard", "partition"},
	{"taskfile", "bench/runner"},
	{"bench/store"},
	{"bench", "search", "watch", "field", "target", "rescue"},
	{"bench/stats"},
	{"change"},
	{"change/history"},
	{"change/journal"},
	{"change/attr"},
	{"model", "kernel/kernelfake"},
	{"place", "sample"},
	{"procfs", "topology", "bpf", "irq", "userfile", "taskfacts", "child", "users"},
	{"feature", "kernel", "kthread"},
	{"cpuset", "chart", "pattern", "group", "shell", "change/defect", "crash"},
}

// allowed are imports inside one layer.
var allowed = map[string]bool{
	"feature kernel":           true,
	"topology procfs":          true, // the cpuset of piton itself is that of a task
	"users procfs":             true, // a file of the root that need not be one
	"taskfacts procfs":         true, // files of a task
	"irq procfs":               true, // threads of handlers are tasks
	"cli/rulescmd cli/autocmd": true, // a search that a rule asked for ends with piton auto's line
	"sample place":             true, // sample.Groups reads the groups that place decides by
}

// commandLibrary may be imported by cli and the packages below it only, screenLibraries by
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
func layerOf(path string) (layer int, name string) {
	rest, ok := strings.CutPrefix(path, "piton/internal/")
	if !ok {
		return -1, ""
	}
	layer, name = -1, strings.SplitN(rest, "/", 2)[0]
	for i, names := range layers {
		for _, n := range names {
			if (rest == n || strings.HasPrefix(rest, n+"/")) && (layer < 0 || len(n) > len(name)) {
				layer, name = i, n
			}
		}
	}
	return layer, name
}

func TestImportsPointDown(t *testing.T) {
	for pkg, imported := range imports(t) {
		from, fromName := layerOf(pkg)
		if fromName != "" {
			assert.GreaterOrEqual(t, from, 0, "package %s stands in no layer", pkg)
		}
		for _, imp := range imported {
			to, toName := layerOf(imp)
			if from < 0 || to < 0 || fromName == toName {
				continue
			}
			if from == to {
				assert.True(t, allowed[fromName+" "+toName], "%s imports %s of its own layer", pkg, imp)
				continue
			}
			assert.Less(t, from, to, "%s imports %s, which is above it", pkg, imp)
		}
	}
}

func TestOnlyKernelCallsTheKernel(t *testing.T) {
	for pkg, imported := range imports(t) {
		switch pkg {
		case "piton/internal/kernel", "piton/internal/kernel/netdev", "piton/internal/lab/netns", "piton/internal/kernel/tree":
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
	for pkg, imported := range imports(t) {
		_, name := layerOf(pkg)
		for _, imp := range imported {
			inCLI := strings.HasPrefix(name+"/", "cli/")
			assert.False(t, !inCLI && strings.HasPrefix(imp, commandLibrary), "%s imports %s", pkg, imp)
			for _, lib := range screenLibraries {
				assert.False(t, !mayDraw[name] && strings.HasPrefix(imp, lib), "%s imports %s", pkg, imp)
			}
		}
	}
}

// wing are the libraries that only the laboratory may import.
var wing = []string{"github.com/vishvananda/netlink"}

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
	for pkg, imported := range imports(t) {
		if !strings.HasPrefix(pkg, "piton/workloads") {
			continue
		}
		for _, imp := range imported {
			if to, _ := layerOf(imp); to >= 0 {
				top, _ := layerOf("piton/internal/sample")
				assert.GreaterOrEqual(t, to, top, "%s imports %s, which is above what a workload may ask for", pkg, imp)
			}
		}
	}
}

// TestMapIsTrue holds doc.go's list of packages to its word: each package has a
// line, and imports only from the lines below its own.
func TestMapIsTrue(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	_, list, found := strings.Cut(string(text), "# The packages, in dependency order")
	require.True(t, found)
	line := map[string]int{}
	for i, m := range regexp.MustCompile(`(?m)^//\t([a-z][a-z/, ]*?)  `).FindAllStringSubmatch(list, -1) {
		for name := range strings.SplitSeq(m[1], ", ") {
			line[name] = i + 1
		}
	}
	for pkg, imported := range imports(t) {
		_, from := layerOf(pkg)
		if from == "" {
			continue
		}
		assert.Positive(t, line[from], "doc.go has no line for %s", pkg)
		for _, imp := range imported {
			if _, to := layerOf(imp); to != "" && to != from {
				assert.Less(t, line[from], line[to], "%s imports %s, which doc.go has above it", pkg, imp)
			}
		}
	}
}
