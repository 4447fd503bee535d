package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"piton/internal/bench"
	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/workloads"
	"piton/workloads/workload"
)

// TestMain is the child too: started with childMode first, this binary is a
// workload's process, as piton is with its hidden subcommand.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == childMode {
		os.Exit(childMain(append(testWorkloads, workloads.All...), os.Args[2:], os.Stdin, os.Stdout))
	}
	if len(os.Args) > 1 && os.Args[1] == parentMode {
		runParent()
		return
	}
	os.Exit(m.Run())
}

const childMode = "piton-test-child"

// quickExit keeps the race detector from waiting a second at each child's end.
const quickExit = "GORACE=atexit_sleep_ms=0"

// testWorkloads misbehave in every way that a child can.
var testWorkloads = []workload.Workload{
	{Name: "sleep", Params: []workload.Param{{Name: "ms", Default: "0", Max: 600_000}}, Run: sleep},
	{Name: "fixed", Params: []workload.Param{{Name: "rounds", Default: "10000", Max: 1_000_000}}, Run: fixedWork},
	{Name: "wrong", Run: func(context.Context, workload.Values) (workload.Outcome, error) {
		return workload.Outcome{Answer: "41", Seconds: 0.1}, errors.New("found 41 where there are 42")
	}},
	{Name: "panics", Run: func(context.Context, workload.Values) (workload.Outcome, error) { panic("out of its depth") }},
	{Name: "exits", Run: func(context.Context, workload.Values) (workload.Outcome, error) {
		os.Exit(7)
		return workload.Outcome{}, nil
	}},
	{Name: "garbage", Run: func(context.Context, workload.Values) (workload.Outcome, error) {
		fmt.Println("no JSON at all")
		return workload.Outcome{}, nil
	}},
	{Name: "killed", Run: func(context.Context, workload.Values) (workload.Outcome, error) {
		return workload.Outcome{}, syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}},
}

func sleep(ctx context.Context, v workload.Values) (workload.Outcome, error) {
	d := time.Duration(v.Int("ms")) * time.Millisecond
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	return workload.Outcome{Answer: strconv.Itoa(v.Int("ms")), Seconds: d.Seconds()}, nil
}

// newRunner starts this test binary as the child and places nothing.
func newRunner(t *testing.T) *Runner {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &Runner{
		Command:   []string{exe, childMode},
		Env:       append(os.Environ(), quickExit),
		Place:     func(context.Context, kernel.TID, bench.Spec) (bench.Placed, error) { return bench.Placed{}, nil },
		Scheduler: kernel.System(),
		Proc:      procfs.New("/"),
	}
}

// gone reports whether no process has the PID, not even an unreaped one.
func gone(pid kernel.TID) bool { return errors.Is(syscall.Kill(int(pid), 0), syscall.ESRCH) }

// killAndReap ends a child of the test.
func killAndReap(pid kernel.TID) error {
	err := syscall.Kill(int(pid), syscall.SIGKILL)
	var status syscall.WaitStatus
	_, waited := syscall.Wait4(int(pid), &status, 0, nil)
	return errors.Join(err, waited)
}
