package changetest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"piton/internal/change/attr"
	"piton/internal/change/attr/share"
	"piton/internal/kernel"
)

// RealGroup makes a control group of this machine with a controller, cpu or cpuset, moves a process
// there, and returns its directory; both are undone when the test ends. It skips the test where that
// cannot be.
func RealGroup(tb testing.TB, pid kernel.TID, controller string) (dir string) {
	tb.Helper()
	g, err := attr.NewMachine(attr.Sources{}).Cgroup(kernel.TID(os.Getpid()), controller)
	if err != nil {
		tb.Skip("no control groups with the controller: ", err)
	}
	if g.Unified {
		_ = os.WriteFile(filepath.Join(g.Point, "cgroup.subtree_control"), []byte("+"+controller), 0)
	}
	dir = filepath.Join(g.Point, fmt.Sprintf("piton-test-%d", pid))
	if err := os.Mkdir(dir, 0o755); err != nil {
		tb.Skip("no control group can be made: ", err)
	}
	move := func(dir string) error {
		return os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(fmt.Sprint(pid)), 0o644)
	}
	tb.Cleanup(func() {
		_ = move(g.Point) // it may have ended
		for range 100 {
			if os.Remove(dir) == nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		tb.Errorf("%s is left", dir)
	})
	file := share.WeightFiles(g.Unified)[0]
	if controller == "cpuset" {
		file = "cpuset.cpus"
	}
	if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
		tb.Skip("groups below the root do not have the controller here: ", err)
	}
	if controller == "cpuset" && !g.Unified { // which has no CPUs at first
		for _, name := range []string{"cpuset.cpus", "cpuset.mems"} {
			all, err := os.ReadFile(filepath.Join(g.Point, name))
			if err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), all, 0)); err != nil {
				tb.Skip(err)
			}
		}
	}
	if err := move(dir); err != nil {
		tb.Skip("no process can be moved: ", err)
	}
	return dir
}
