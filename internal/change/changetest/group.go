package changetest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"piton/internal/change/attr"
	"piton/internal/change/attr/share"
	"piton/internal/kernel"
)

// RealGroup makes a control group of this machine with the cpu controller, moves a process there,
// and returns its directory; both are undone when the test ends. It skips the test where that cannot be.
func RealGroup(tb testing.TB, pid kernel.TID) (dir string) {
	tb.Helper()
	g, err := attr.NewMachine(attr.Sources{}).Cgroup(kernel.TID(os.Getpid()), "cpu")
	if err != nil {
		tb.Skip("no control groups with the cpu controller: ", err)
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
	if _, err := os.Stat(filepath.Join(dir, share.WeightFiles(g.Unified)[0])); err != nil {
		tb.Skip("groups below the root have no cpu controller here: ", err)
	}
	if err := move(dir); err != nil {
		tb.Skip("no process can be moved: ", err)
	}
	return dir
}
