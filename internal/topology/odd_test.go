package topology_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/topology"
	"piton/internal/topology/topologytest"
)

// An odd line in a file of a CPU or node changes nothing of CPUs that share nothing with it.
func TestAnOddLineIsLostAlone(t *testing.T) {
	trees := map[string]func(testing.TB) string{}
	for _, shape := range topologytest.Shapes(t) {
		trees[shape] = func(t testing.TB) string { return topologytest.Host(t, shape) }
	}
	for _, archive := range topologytest.Archives(t) {
		trees[filepath.Base(archive)] = func(t testing.TB) string { return topologytest.Extract(t, archive) }
	}
	for name, tree := range trees {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spoil(t, tree(t))
		})
	}
}

func spoil(t *testing.T, root string) {
	base, err := topology.Read(root)
	require.NoError(t, err)
	type place struct {
		path string
		line int
	}
	var all []place
	for _, top := range []string{"sys/devices/system/cpu", "sys/devices/system/node", "proc"} {
		_ = filepath.WalkDir(filepath.Join(root, top), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				text, _ := os.ReadFile(path)
				for i := range strings.Count(string(text), "\n") {
					all = append(all, place{path, i})
				}
			}
			return nil
		})
	}
	most := min(80, 2000/len(base.CPUs)+8) // a reading takes as long as there are CPUs
	switch {
	case os.Getenv("PITON_ALL_LINES") != "":
		most = len(all)
	case testing.Short():
		most /= 4
	}
	step := max(1, len(all)/most)
	for at := 0; at < len(all); at += step {
		path := all[at].path
		whole, err := os.ReadFile(path)
		require.NoError(t, err)
		lines := strings.SplitAfter(string(whole), "\n")
		line := strings.TrimSuffix(lines[all[at].line], "\n")
		for how, odd := range map[string]string{"dropped": "", "doubled": line + "\n" + line + "\n", "cut": line[:len(line)/2] + "\n",
			"negated": "-" + line + "\n", "too large": "99999999999999999999" + line + "\n"} {
			if how == "cut" && strings.Trim(line, "0123456789abcdef,") == "" {
				continue // half a mask is a mask
			}
			lines[all[at].line] = odd
			require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "")), 0o644))
			got, err := topology.Read(root)
			if isList := filepath.Base(filepath.Dir(path)) == "cpu"; isList || strings.HasSuffix(path, "/online") || strings.Contains(path, root+"/proc/") {
				continue // about all CPUs
			}
			require.NoError(t, err, path)
			sameButFor(t, base, got, path, how)
		}
		require.NoError(t, os.WriteFile(path, whole, 0o644))
	}
	got, err := topology.Read(root)
	require.NoError(t, err)
	assert.Equal(t, base, got)
}

var numbered = regexp.MustCompile(`/(cpu|node)([0-9]+)/`)

func sameButFor(t *testing.T, base, got *topology.Topology, path, how string) {
	require.Equal(t, base.Online.String(), got.Online.String(), path)
	groups := numbered.FindStringSubmatch(path)
	if groups == nil {
		return
	}
	number := 0
	_, err := fmt.Sscan(groups[2], &number)
	require.NoError(t, err)
	for i, was := range base.CPUs {
		now := got.CPUs[i]
		if groups[1] == "node" {
			if int(was.Node) != number && was.Node != now.Node { // what differs is formatted, of millions
				assert.Equal(t, was.Node, now.Node, "%s %s: node of CPU %d", path, how, was.ID)
			}
			continue
		}
		if was.Node != now.Node {
			assert.Equal(t, was.Node, now.Node, "%s %s: node of CPU %d", path, how, was.ID)
		}
		for what, sets := range map[string][2]cpuset.Set{"core": {was.Core, now.Core}, "LLC": {was.LLC, now.LLC}, "package": {was.Package, now.Package}} {
			if !sets[0].Equal(sets[1]) && !sets[0].Has(cpuset.CPU(number)) && was.ID != cpuset.CPU(number) {
				assert.Equal(t, sets[0].String(), sets[1].String(), "%s %s: %s of CPU %d", path, how, what, was.ID)
			}
		}
	}
}
