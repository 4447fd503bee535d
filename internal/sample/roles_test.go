package sample

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"piton/internal/bpf/bpftest"
)

// Some tests act on children of their own: the test program again, in one of the roles below.
func TestMain(m *testing.M) { bpftest.Main(m, playRole) }

// The first thread is not for tests: its row is that of the whole process.
func init() { runtime.LockOSThread() }

func playRole(role []string) error {
	switch role[0] {
	case "sleep", "spin":
		return bpftest.PlayThreads(role[0] == "spin", role[1:])
	case "sample":
		return playSample(role[1])
	case "end":
		return nil
	}
	return fmt.Errorf("no role %q", role)
}

// seenAs is what a sampler says of its sources.
type seenAs struct {
	Tasks                                    int
	TasksRung, TasksBetter, Moves, MoveNeeds string
}

// playSample takes a right from itself and reads two samples.
func playSample(right string) error {
	var err error
	switch right {
	case "bpf(2)":
		err = bpftest.ForbidBPF()
	case "btf":
		err = errors.Join(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
			unix.Mount("none", "/sys/kernel/btf", "tmpfs", 0, ""))
	case "proc":
		err = errors.Join(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
			unix.Mount("proc", "/proc", "proc", 0, ""))
	}
	if err != nil {
		return err
	}
	s, err := New(Options{EBPF: EBPFNow})
	if err != nil {
		return err
	}
	defer s.Close()
	var n *Sample
	for range 2 {
		if n, err = s.Read(); err != nil {
			return err
		}
	}
	seen := seenAs{Tasks: len(n.Tasks), Moves: n.Migrations.String()}
	for _, c := range n.Collectors {
		switch c.Name {
		case "tasks":
			seen.TasksRung, seen.TasksBetter = c.Rung, c.Better
		case "migrations":
			seen.MoveNeeds = c.Better
		}
		if c.Err != nil {
			return c.Err
		}
	}
	return json.NewEncoder(os.Stdout).Encode(seen)
}

// start runs a role.
func start(tb testing.TB, role ...string) *bpftest.Child {
	tb.Helper()
	return bpftest.Start(tb, bpftest.Command(role...))
}
