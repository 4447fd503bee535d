package tune

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

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
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

// nowTicks is the time since boot in USER_HZ, once its tick is over.
func nowTicks(t *testing.T) uint64 {
	t.Helper()
	text, err := proc.File("uptime")
	require.NoError(t, err)
	up, err := procfs.ParseUptime(text)
	require.NoError(t, err)
	time.Sleep(20 * time.Millisecond)
	return uint64(up / (10 * time.Millisecond))
}

func one(pid kernel.TID, cpus cpuset.Set) Request {
	return Request{Targets: []Target{{TID: pid, Scope: ScopeThread}}, Settings: Settings{Affinity: &cpus}, Reason: "sweep"}
}

func TestSweep(t *testing.T) {
	s := startShell(t)
	all, err := kernel.System().Affinity(s.pid)
	require.NoError(t, err)
	if all.Len() < 2 {
		t.Skip("needs two CPUs")
	}
	last := cpuset.Of(all.Last())
	chosen, late, mortal := s.start("sleep 60"), s.start("sleep 60"), s.start("sleep 60")
	require.NoError(t, kernel.System().SetAffinity(chosen, last))
	at := nowTicks(t)
	tuner := New(Options{Journal: openJournal(t)})
	plan, err := tuner.Plan(t.Context(), []Request{one(s.pid, last), one(mortal, last)})
	require.NoError(t, err)
	asked := 0
	plan.Sweep = &Sweep{AtTicks: at, Again: func(context.Context) ([]Request, error) {
		asked++
		return []Request{one(late, last), one(s.pid, all)}, nil // the shell had its turn
	}}
	s.start("kill -9 " + strconv.Itoa(int(mortal)))
	require.Eventually(t, func() bool { _, err := proc.Stat(mortal); return err != nil || ended(stateOf(mortal)) }, 10*time.Second, time.Millisecond)
	result, err := tuner.Apply(t.Context(), plan)
	require.NoError(t, err)
	assert.Zero(t, result.Count(Failed), "that one has ended is no failure: %v", result.Changes)
	assert.Equal(t, 2, result.Count(Done))
	assert.Equal(t, 1, result.Newborn)
	assert.Equal(t, 3, asked, "until nothing was new twice")
	assert.Equal(t, last.String(), affinityOf(t, late))
	assert.Equal(t, last.String(), affinityOf(t, s.pid))

	born, own := s.start("sleep 60"), s.start("sleep 60")
	require.Equal(t, last.String(), affinityOf(t, born))
	require.NoError(t, kernel.System().SetAffinity(own, cpuset.Of(all.First())))
	undone, err := tuner.Undo(t.Context(), UndoRequest{Last: 1})
	require.NoError(t, err)
	assert.Zero(t, undone.Count(Failed)+undone.Count(Refused), "%v", undone.Changes)
	for pid, want := range map[kernel.TID]cpuset.Set{s.pid: all, late: all, born: all, chosen: last, own: cpuset.Of(all.First())} {
		assert.Equal(t, want.String(), affinityOf(t, pid))
	}
}

// TestSweepUndoneMeanwhile: what is born between the plan of an undo and its end
// has what the sweep left of its parent's mask, and gets the whole one all the same.
func TestSweepUndoneMeanwhile(t *testing.T) {
	s := startShell(t)
	all, err := kernel.System().Affinity(s.pid)
	require.NoError(t, err)
	if all.Len() < 2 {
		t.Skip("needs two CPUs")
	}
	last := cpuset.Of(all.Last())
	tuner := New(Options{Journal: openJournal(t)})
	plan, err := tuner.Plan(t.Context(), []Request{one(s.pid, last)})
	require.NoError(t, err)
	plan.Sweep = &Sweep{AtTicks: nowTicks(t)}
	_, err = tuner.Apply(t.Context(), plan)
	require.NoError(t, err)
	time.Sleep(20 * time.Millisecond)
	undo, err := tuner.PlanUndo(t.Context(), UndoRequest{Last: 1})
	require.NoError(t, err)
	born, own := s.start("sleep 60"), s.start("sleep 60")
	require.Equal(t, last.String(), affinityOf(t, born))
	require.NoError(t, kernel.System().SetAffinity(own, cpuset.Of(all.First())))
	result, err := tuner.Apply(t.Context(), undo)
	require.NoError(t, err)
	assert.Equal(t, 1, result.Newborn, "%v", result.Changes)
	for pid, want := range map[kernel.TID]cpuset.Set{s.pid: all, born: all, own: cpuset.Of(all.First())} {
		assert.Equal(t, want.String(), affinityOf(t, pid))
	}
}

// TestSweepStacked undoes two sweeps at once, between which a task was born.
func TestSweepStacked(t *testing.T) {
	s := startShell(t)
	all, err := kernel.System().Affinity(s.pid)
	require.NoError(t, err)
	if all.Len() < 2 {
		t.Skip("needs two CPUs")
	}
	tuner := New(Options{Journal: openJournal(t)})
	sweep := func(cpus cpuset.Set, pids ...kernel.TID) {
		var requests []Request
		for _, pid := range pids {
			requests = append(requests, one(pid, cpus))
		}
		plan, err := tuner.Plan(t.Context(), requests)
		require.NoError(t, err)
		plan.Sweep = &Sweep{AtTicks: nowTicks(t)}
		_, err = tuner.Apply(t.Context(), plan)
		require.NoError(t, err)
		time.Sleep(20 * time.Millisecond)
	}
	sweep(cpuset.Of(all.Last()), s.pid)
	between := s.start("sleep 60")
	sweep(cpuset.Of(all.First()), s.pid, between)
	after := s.start("sleep 60")
	require.Equal(t, cpuset.Of(all.First()).String(), affinityOf(t, after))
	_, err = tuner.Undo(t.Context(), UndoRequest{All: true})
	require.NoError(t, err)
	for _, pid := range []kernel.TID{s.pid, between, after} {
		assert.Equal(t, all.String(), affinityOf(t, pid))
	}
}

func stateOf(pid kernel.TID) byte {
	st, err := proc.Stat(pid)
	if err != nil {
		return 'X'
	}
	return st.State
}
