package change_test

import (
	"bufio"
	"context"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/kernel/kerneltest"
)

// shell is a shell that starts a process for each line that it is given.
type shell struct {
	t   *testing.T
	pid kernel.TID
	in  io.Writer
	out *bufio.Reader

	children []kernel.TID
}

func startShell(t *testing.T) *shell {
	t.Helper()
	cmd := exec.Command("sh", "-c", "while read command; do $command & echo $!; done")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	s := &shell{t: t, pid: kernel.TID(cmd.Process.Pid), in: in, out: bufio.NewReader(out)}
	t.Cleanup(func() {
		for _, pid := range s.children { // their numbers are theirs while the shell lives
			_ = syscall.Kill(int(pid), syscall.SIGKILL)
		}
		_ = in.Close()
		_ = cmd.Wait()
	})
	return s
}

func (s *shell) start(command string) kernel.TID {
	s.t.Helper()
	_, err := io.WriteString(s.in, command+"\n")
	require.NoError(s.t, err)
	line, err := s.out.ReadString('\n')
	require.NoError(s.t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(s.t, err)
	s.children = append(s.children, kernel.TID(pid))
	return kernel.TID(pid)
}

// setCPUs is what somebody else does to a process.
func setCPUs(t *testing.T, pid kernel.TID, cpus cpuset.Set) {
	t.Helper()
	require.NoError(t, kerneltest.Of(t, pid, pid).SetAffinity(cpus))
}

// nowTicks is the time since boot in USER_HZ, once its tick is over.
func nowTicks() uint64 {
	at := change.Local().Ticks()
	for change.Local().Ticks() == at {
		time.Sleep(time.Millisecond)
	}
	return at
}

func one(pid kernel.TID, cpus cpuset.Set) change.Request {
	r := pin(change.ScopeThread, cpus, pid)[0]
	r.Reason = "sweep"
	return r
}

func assertCPUs(t *testing.T, want map[kernel.TID]cpuset.Set) {
	t.Helper()
	for pid, cpus := range want {
		assert.Equal(t, cpus.String(), cpusOf(t, pid).String(), "%d", pid)
	}
}

// more is a Sweep whose plan is not made anew.
type more func(context.Context) ([]change.Request, error)

func (more) Again(_ context.Context, p change.Plan) (change.Plan, error) { return p, nil }

func (m more) More(ctx context.Context) ([]change.Request, error) { return m(ctx) }

func TestSweep(t *testing.T) {
	all, first, last := twoCPUs(t)
	s := startShell(t)
	chosen, late, mortal := s.start("sleep 600"), s.start("sleep 60"), s.start("sleep 60")
	setCPUs(t, chosen, last)
	at := nowTicks()
	tuner := recorded(t)
	p := plan(t, tuner, []change.Request{one(s.pid, last), one(mortal, last)})
	asked := 0
	p.AtTicks, p.Sweep = at, more(func(context.Context) ([]change.Request, error) {
		asked++
		return []change.Request{one(late, last), one(s.pid, all)}, nil // the shell had its turn
	})
	s.start("kill -9 " + strconv.Itoa(int(mortal)))
	require.Eventually(t, func() bool {
		st, err := proc.Stat(mortal)
		return err != nil || st.State == 'Z' || st.State == 'X'
	}, time.Minute, time.Millisecond)
	outcome := applyPlan(t, tuner, p)
	assert.Zero(t, outcome.Count(attr.Failed), "that one has ended is no failure: %v", outcome.Changes)
	assert.Equal(t, 2, outcome.Count(attr.Done))
	assert.Equal(t, 1, outcome.Newborn)
	assert.Equal(t, 3, asked, "until nothing was new twice")
	assertCPUs(t, map[kernel.TID]cpuset.Set{late: last, s.pid: last})

	born, own := s.start("sleep 600"), s.start("sleep 60")
	assertCPUs(t, map[kernel.TID]cpuset.Set{born: last})
	setCPUs(t, own, first)
	undone := undo(t, tuner, change.UndoRequest{Last: 1})
	assert.Zero(t, undone.Count(attr.Failed)+undone.Count(attr.Refused), "%v", undone.Changes)
	assertCPUs(t, map[kernel.TID]cpuset.Set{s.pid: all, late: all, born: all, chosen: last, own: first})
}

// TestSweepUndoneMeanwhile: what is born between the plan of an undo and its end
// has what the sweep left of its parent's mask, and gets the whole one all the same.
func TestSweepUndoneMeanwhile(t *testing.T) {
	all, first, last := twoCPUs(t)
	s := startShell(t)
	tuner := recorded(t)
	p := plan(t, tuner, []change.Request{one(s.pid, last)})
	p.AtTicks = nowTicks()
	applyPlan(t, tuner, p)
	nowTicks()
	p, err := tuner.PlanUndo(t.Context(), change.UndoRequest{Last: 1})
	require.NoError(t, err)
	p.Undo.IDs = nil // it is no later than its start
	born, own := s.start("sleep 600"), s.start("sleep 60")
	assertCPUs(t, map[kernel.TID]cpuset.Set{born: last})
	setCPUs(t, own, first)
	outcome := applyPlan(t, tuner, p)
	assert.Equal(t, 1, outcome.Newborn, "%v", outcome.Changes)
	assertCPUs(t, map[kernel.TID]cpuset.Set{s.pid: all, born: all, own: first})
}

// TestSweepStacked undoes two sweeps at once, between which a task was born.
func TestSweepStacked(t *testing.T) {
	all, first, last := twoCPUs(t)
	s := startShell(t)
	tuner := recorded(t)
	matchAll := func(cpus cpuset.Set, pids ...kernel.TID) {
		var requests []change.Request
		for _, pid := range pids {
			requests = append(requests, one(pid, cpus))
		}
		p := plan(t, tuner, requests)
		p.AtTicks = nowTicks()
		applyPlan(t, tuner, p)
		nowTicks()
	}
	matchAll(last, s.pid)
	between := s.start("sleep 600")
	matchAll(first, s.pid, between)
	after := s.start("sleep 600")
	assertCPUs(t, map[kernel.TID]cpuset.Set{after: first})
	undo(t, tuner, change.UndoRequest{All: true})
	assertCPUs(t, map[kernel.TID]cpuset.Set{s.pid: all, between: all, after: all})
}
