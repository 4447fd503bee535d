package guard

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/history"
	"piton/internal/change/journal"
	"piton/internal/kernel"
	"piton/internal/kernel/kerneltest"
	"piton/internal/procfs"
	"piton/internal/userfile"
)

func TestMain(m *testing.M) {
	userfile.Run = "/nonexistent" // so each test has its own lock
	if len(os.Args) > 1 && os.Args[1] == Verb {
		if os.Getenv(endAtOnce) != "" || Main(os.Args[2:]) != nil {
			os.Exit(1)
		}
		return
	}
	if os.Getenv(subsiding) != "" {
		Overtake()
		before, _ := kernel.System().Attr(0)
		began := time.Now()
		Subside()
		if before.Policy == kernel.Deadline && time.Since(began) < deadlinePeriod {
			fmt.Println("it did not wait")
		}
		_ = eachThread(func(tid kernel.TID) error {
			a, err := kernel.System().Attr(tid)
			fmt.Println(a.Policy)
			return err
		})
		return
	}
	os.Exit(m.Run())
}

// subsiding makes a process that overtakes, subsides, and prints the policies of its threads.
const subsiding = "PITON_TEST_SUBSIDING"

// TestSubside: no thread of a guard is DEADLINE when it ends.
func TestSubside(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), subsiding+"=1")
	out, err := cmd.Output()
	require.NoError(t, err)
	assert.Regexp(t, `^((OTHER|FIFO)\n)+$`, string(out), "FIFO where DEADLINE is not to be had")
}

// endAtOnce makes a guard end without an answer.
const endAtOnce = "PITON_TEST_END_AT_ONCE"

// What is changed is the level of an I/O priority, which every user may both raise and
// lower again: before the change, after it, and other values.
const (
	was = iota + 3
	other
	others
	raised
)

// bench is a journal with what changes and guards a child.
type bench struct {
	*testing.T
	Launcher
	journal *journal.Journal
	tuner   *change.Tuner
	child   kernel.TID
	in      io.Writer // of the child: a line makes it start a child of its own,
	out     *bufio.Scanner
}

func newBench(t *testing.T) *bench {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	path := filepath.Join(dir, "journal")
	j, err := journal.Open(path)
	require.NoError(t, err)
	b := &bench{T: t, Launcher: Launcher{Env: os.Environ(), Journal: path, Dir: filepath.Join(dir, "guards")}, journal: j}
	b.tuner = b.tunerWith(b.Launcher)
	cmd := exec.Command("sh", "-c", `read line; sleep 600 & echo $!; read line`)
	b.in, err = cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	b.out = bufio.NewScanner(out)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	b.child = kernel.TID(cmd.Process.Pid)
	b.setLevel(was)
	return b
}

func (b *bench) tunerWith(g change.Guards) *change.Tuner {
	return change.New(change.Options{
		Writer: kernel.SystemWriter(), FileWriter: kernel.SystemFiles(), Journal: b.journal, Guards: g,
		Lock: journal.UserLock(kernel.EUID(), filepath.Dir(b.Journal)),
	})
}

// heir makes the child start one.
func (b *bench) heir() kernel.TID {
	_, err := fmt.Fprintln(b.in)
	require.NoError(b, err)
	require.True(b, b.out.Scan())
	var pid kernel.TID
	_, err = fmt.Sscan(b.out.Text(), &pid)
	require.NoError(b, err)
	b.Cleanup(func() { _ = syscall.Kill(int(pid), syscall.SIGKILL) })
	return pid
}

func (b *bench) plan(s attr.Setting) change.Plan {
	plan, err := b.tuner.Plan(b.Context(), []change.Request{{Targets: []change.Target{{TID: b.child}}, Set: []attr.Setting{s}}})
	require.NoError(b, err)
	return plan
}

func (b *bench) applyPlan(s attr.Setting, after time.Duration) (change.Outcome, change.Guard) {
	o, err := b.tuner.Apply(b.Context(), b.plan(s), change.Confirmation{RevertAfter: after})
	require.NoError(b, err)
	require.NotNil(b, o.Guard)
	return o, o.Guard
}

func (b *bench) level() int {
	p, err := kernel.System().IOPrio(b.child)
	require.NoError(b, err)
	return int(p.Level)
}

// setLevel is a change by somebody else.
func (b *bench) setLevel(n int) {
	p, err := kernel.SystemWriter().Hold(b.child, 0)
	require.NoError(b, err)
	defer p.Close()
	ticks, _, err := kernel.StartTicks(b.child, b.child)
	require.NoError(b, err)
	require.NoError(b, p.Thread(b.child, ticks).SetIOPrio(bestEffort(n)))
}

func bestEffort(n int) kernel.IOPrio {
	return kernel.IOPrio{Class: kernel.IOBestEffort, Level: int8(n)}
}

func to(n int) attr.Setting { return attr.SetIOPrio(bestEffort(n)) }

func (b *bench) policy(pid kernel.TID) kernel.Policy {
	a, err := kernel.System().Attr(pid)
	require.NoError(b, err)
	return a.Policy
}

// ended waits for a guard's end.
func (b *bench) ended(g change.Guard) {
	require.Eventually(b, func() bool {
		st, err := procfs.New("/").Stat(kernel.TID(g.Status().PID))
		return err != nil || st.State == 'Z'
	}, time.Minute, 5*time.Millisecond, "the guard ends")
	left, err := filepath.Glob(b.Dir + "/*")
	require.NoError(b, err)
	assert.Empty(b, left, "it leaves nothing")
}

func (b *bench) entry(id uint64) journal.Entry {
	entries, damage, err := b.journal.Entries()
	require.NoError(b, err)
	require.Empty(b, damage)
	for _, e := range entries {
		if e.ID == id {
			return e
		}
	}
	b.Fatalf("no entry %d", id)
	return journal.Entry{}
}

func (b *bench) list() []history.GuardState {
	armed, err := b.List()
	require.NoError(b, err)
	return armed
}

// soon is when a guard reverts a change that the test has made by then, on a loaded machine, too.
const soon = 4 * time.Second

func TestRevertedWithoutAnAnswer(t *testing.T) {
	t.Parallel() // it waits
	b := newBench(t)
	o, g := b.applyPlan(to(raised), soon)
	assert.Equal(t, 1, o.Count(attr.Done))
	b.ended(g)
	assert.ErrorIs(t, g.Keep(), change.ErrTooLate)
	assert.Equal(t, was, b.level())
	assert.True(t, b.entry(o.Entry).Undone)
	assert.Contains(t, b.entry(o.Entry+1).Command, "not confirmed within "+soon.String())
	assert.Equal(t, []uint64{o.Entry}, b.entry(o.Entry+1).Undoes)
}

func TestKept(t *testing.T) {
	b := newBench(t)
	o, g := b.applyPlan(to(raised), time.Hour)
	require.NoError(t, g.Keep())
	b.ended(g)
	assert.Equal(t, raised, b.level())
	assert.False(t, b.entry(o.Entry).Undone)
}

func TestKeptByAnother(t *testing.T) {
	b := newBench(t)
	assert.Empty(t, b.list(), "there is no such directory yet")
	assert.ErrorIs(t, b.Keep(1), ErrNotArmed)
	o, g := b.applyPlan(to(raised), time.Hour)
	armed := b.list()
	require.Len(t, armed, 1)
	assert.Equal(t, o.Entry, armed[0].Entry)
	assert.Equal(t, g.Status().PID, armed[0].PID)
	assert.Equal(t, "waiting", armed[0].State)
	assert.Greater(t, armed[0].Left, 50*time.Minute)
	assert.Empty(t, armed[0].Words())
	require.NoError(t, b.Keep(o.Entry))
	b.ended(g)
	assert.Equal(t, raised, b.level())
}

// TestUndoneEndsTheGuard is an undo by hand, after which the guard has no task.
func TestUndoneEndsTheGuard(t *testing.T) {
	b := newBench(t)
	_, g := b.applyPlan(to(raised), time.Hour)
	_, err := b.tuner.Undo(t.Context(), change.UndoRequest{All: true})
	require.NoError(t, err)
	b.ended(g)
	assert.Equal(t, was, b.level())
}

// TestEndsWithItsTasks is a guard of tasks that have ended: there is nothing left to revert.
func TestEndsWithItsTasks(t *testing.T) {
	b := newBench(t)
	_, g := b.applyPlan(attr.SetIOPrio(kernel.IOPrio{Class: kernel.IOIdle}), time.Hour)
	require.NoError(t, syscall.Kill(int(b.child), syscall.SIGKILL))
	_, err := syscall.Wait4(int(b.child), nil, 0, nil)
	require.NoError(t, err)
	b.ended(g)
	assert.Empty(t, b.list())
}

// TestLostGuard is one that was killed, and one that was stopped: both are seen at
// once, and keep nobody waiting.
func TestLostGuard(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP} {
		b := newBench(t)
		o, g := b.applyPlan(to(raised), time.Hour)
		pid := g.Status().PID
		require.NoError(t, syscall.Kill(pid, sig))
		require.Eventually(t, func() bool { return len(b.list()) == 1 && b.list()[0].Words() != "" }, time.Minute, 5*time.Millisecond)
		want := "guard lost: entry 1 will not be reverted"
		if sig == syscall.SIGSTOP {
			want = "guard stopped: entry 1 is not reverted while"
		}
		assert.Contains(t, b.list()[0].Words(), want)
		require.NoError(t, b.Keep(o.Entry), "it needs no answer")
		assert.Empty(t, b.list())
		if sig == syscall.SIGSTOP {
			require.NoError(t, syscall.Kill(pid, syscall.SIGCONT))
		}
		b.ended(g)
		assert.Equal(t, raised, b.level())
	}
}

// TestGuardKilledWhileItReverts is lost, and cannot be confirmed: part of it is reverted.
func TestGuardKilledWhileItReverts(t *testing.T) {
	b := newBench(t)
	o, g := b.applyPlan(to(raised), time.Hour)
	require.NoError(t, syscall.Kill(g.Status().PID, syscall.SIGKILL))
	require.True(t, b.page().become(Waiting, Reverting))
	require.Eventually(t, func() bool { return b.list()[0].Lost }, time.Minute, 5*time.Millisecond)
	require.ErrorContains(t, b.Keep(o.Entry), "piton undo reverts the rest")
}

// TestGuardOfAnotherNamespace is one whose number means another process here.
func TestGuardOfAnotherNamespace(t *testing.T) {
	for _, word := range []int{wordPIDNS, wordTimeNS} {
		b := newBench(t)
		o, g := b.applyPlan(to(raised), time.Hour)
		p := b.page()
		p.word(word).Add(1)
		p.word(wordStart).Add(1)
		assert.Empty(t, b.list()[0].Words(), "it is not called lost")
		assert.Equal(t, "waiting", b.list()[0].State)
		assert.Equal(t, word == wordTimeNS, b.list()[0].Left == history.LeftUnknown, "it has another clock")
		require.NoError(t, b.Keep(o.Entry))
		b.ended(g)
		assert.Equal(t, raised, b.level())
	}
}

// stopped calls f while guards are stopped.
func (b *bench) stopped(f func(), guards ...change.Guard) {
	for _, g := range guards {
		require.NoError(b, syscall.Kill(g.Status().PID, syscall.SIGSTOP))
		require.Eventually(b, func() bool {
			st, err := procfs.New("/").Stat(kernel.TID(g.Status().PID))
			return err == nil && st.State == 'T'
		}, time.Minute, time.Millisecond)
	}
	f()
	for _, g := range guards {
		require.NoError(b, syscall.Kill(g.Status().PID, syscall.SIGCONT))
	}
}

// TestDirectoryOfPagesIsRemoved while guards wait, as systemd-logind does at the end of a
// session: they make new pages, by which they are confirmed, also by those that have
// the old ones.
func TestDirectoryOfPagesIsRemoved(t *testing.T) {
	t.Parallel() // it waits
	b := newBench(t)
	_, held := b.applyPlan(to(other), time.Hour)
	o, g := b.applyPlan(to(raised), time.Hour)
	was := b.list()
	b.stopped(func() {
		require.NoError(t, os.RemoveAll(b.Dir))
		require.ErrorIs(t, b.Keep(o.Entry), ErrNotArmed)
	}, held, g)
	require.Eventually(t, func() bool { return len(b.list()) == 2 }, time.Minute, 5*time.Millisecond)
	for i, now := range b.list() {
		assert.InDelta(t, was[i].Left, now.Left, float64(time.Minute))
		now.Left = was[i].Left
		assert.Equal(t, was[i], now)
	}
	require.NoError(t, held.Keep(), "it has the old page")
	require.NoError(t, b.Keep(o.Entry))
	require.Eventually(t, func() bool {
		left, err := os.ReadDir(b.Dir)
		return err == nil && len(left) == 0
	}, time.Minute, 5*time.Millisecond, "both leave nothing")
	b.ended(held)
	b.ended(g)
	assert.Equal(t, raised, b.level())
}

// TestPageIsNotRestored: what is decided in the old page stays decided, and without the
// directory's parent the guard has no page, as without /run/user/UID.
func TestPageIsNotRestored(t *testing.T) {
	t.Parallel() // it waits
	b := newBench(t)
	o, g := b.applyPlan(to(raised), soon)
	b.stopped(func() {
		require.NoError(t, os.RemoveAll(b.Dir))
		require.NoError(t, os.WriteFile(b.Dir, nil, 0o600)) // not even root makes a page below it
	}, g)
	require.ErrorContains(t, b.Keep(o.Entry), "not a directory")
	require.Eventually(t, func() bool { return b.level() == was }, time.Minute, 5*time.Millisecond)
	require.ErrorIs(t, g.Keep(), change.ErrTooLate)
	b.ended(g)
}

// page is that of the only guard.
func (b *bench) page() *page {
	all, err := b.pages()
	require.NoError(b, err)
	require.Len(b, all, 1)
	b.Cleanup(all[0].close)
	return all[0]
}

// told is a guard of which some lines are kept away.
type told struct {
	Launcher
	tell func(g change.Guard, line []byte) error
}

func (l told) Arm(after time.Duration) (change.Guard, error) {
	g, err := l.Launcher.Arm(after)
	return toldGuard{g, l}, err
}

type toldGuard struct {
	change.Guard
	l told
}

func (g toldGuard) Tell(line []byte) error { return g.l.tell(g.Guard, line) }

// TestRevertedWhenPitonEnds is a piton that dies between the journal and the end
// of the change.
func TestRevertedWhenPitonEnds(t *testing.T) {
	b := newBench(t)
	lines := 0
	b.tuner = b.tunerWith(told{b.Launcher, func(g change.Guard, line []byte) error {
		if lines++; lines > 1 { // the end is never told
			return nil
		}
		return g.Tell(line)
	}})
	_, g := b.applyPlan(to(raised), time.Hour)
	require.Equal(t, raised, b.level())
	require.NoError(t, g.(toldGuard).Guard.(*armed).conn.Close())
	b.ended(g)
	assert.Equal(t, was, b.level())
}

// TestRevertedInTheMiddle is a change that is made after its time: the guard has
// looked by then, and found nothing to revert.
func TestRevertedInTheMiddle(t *testing.T) {
	b := newBench(t)
	var armed change.Guard
	b.tuner = b.tunerWith(told{b.Launcher, func(g change.Guard, line []byte) error {
		begins := armed == nil
		armed = g
		err := g.Tell(line)
		if begins {
			require.Eventually(t, func() bool {
				entries, _, err := b.journal.Entries()
				return err == nil && len(entries) == 2 // the revert is recorded
			}, time.Minute, 5*time.Millisecond)
		}
		return err
	}})
	o, err := b.tuner.Apply(t.Context(), b.plan(to(raised)), change.Confirmation{RevertAfter: 100 * time.Millisecond})
	require.ErrorIs(t, err, change.ErrTooLate)
	assert.Equal(t, attr.Done, o.Changes[0].Status, "it was made")
	assert.Nil(t, o.Guard, "there is nothing left to confirm")
	b.ended(armed)
	assert.Equal(t, was, b.level())
}

// TestRevertIsRecordedLate is a piton that was stopped while it wrote to the journal.
func TestRevertIsRecordedLate(t *testing.T) {
	t.Parallel() // it waits
	b := newBench(t)
	o, g := b.applyPlan(to(raised), soon)
	f, err := os.OpenFile(b.Journal, os.O_RDWR, 0)
	require.NoError(t, err)
	defer f.Close()
	held, err := kernel.TryLock(f)
	require.NoError(t, err)
	require.True(t, held)
	require.Eventually(t, func() bool { return b.level() == was }, time.Minute, 5*time.Millisecond)
	time.Sleep(2500 * time.Millisecond) // longer than one wait for the journal
	require.NoError(t, f.Close())
	b.ended(g)
	assert.True(t, b.entry(o.Entry).Undone)
}

func TestNothingChangedWithoutGuard(t *testing.T) {
	b := newBench(t)
	l := b.Launcher
	l.Env = append(l.Env, endAtOnce+"=1")
	_, err := b.tunerWith(l).Apply(t.Context(), b.plan(to(raised)), change.Confirmation{RevertAfter: time.Hour})
	require.ErrorContains(t, err, "nothing was changed")
	assert.Equal(t, was, b.level())
	entries, _, err := b.journal.Entries()
	require.NoError(t, err)
	assert.Empty(t, entries)

	// One that is killed between arming and the change.
	b.tuner = b.tunerWith(told{b.Launcher, func(g change.Guard, line []byte) error {
		a := g.(*armed)
		require.NoError(t, a.cmd.Process.Kill())
		return g.Tell(line)
	}})
	_, err = b.tuner.Apply(t.Context(), b.plan(to(raised)), change.Confirmation{RevertAfter: time.Hour})
	require.ErrorIs(t, err, errEnded)
	assert.Equal(t, was, b.level())
}

func TestNothingToGuard(t *testing.T) {
	b := newBench(t)
	b.setLevel(raised)
	o, err := b.tuner.Apply(t.Context(), b.plan(to(raised)), change.Confirmation{RevertAfter: time.Hour})
	require.NoError(t, err)
	assert.Nil(t, o.Guard)
	assert.Equal(t, 1, o.Count(attr.Unchanged))
	assert.Empty(t, b.list())
}

func TestRevertedOnSIGTERM(t *testing.T) {
	b := newBench(t)
	_, g := b.applyPlan(to(raised), time.Hour)
	pid := g.Status().PID
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT} {
		require.NoError(t, syscall.Kill(pid, sig))
	}
	time.Sleep(3 * step)
	require.Len(t, b.list(), 1, "it ignores what a terminal sends")
	require.NoError(t, syscall.Kill(pid, syscall.SIGTERM))
	b.ended(g)
	assert.Equal(t, was, b.level())
}

// TestRevertedOnSignalsOfACrash sends a guard what Go ends with its stacks for.
func TestRevertedOnSignalsOfACrash(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGABRT, syscall.SIGSEGV, syscall.SIGTRAP} {
		b := newBench(t)
		_, g := b.applyPlan(to(raised), time.Hour)
		require.NoError(t, syscall.Kill(g.Status().PID, sig))
		b.ended(g)
		assert.Equal(t, was, b.level(), sig)
	}
}

// TestRevertedInOrder is two changes of the same, of which the older is to be
// reverted first: it finds another value until the newer has been.
func TestRevertedInOrder(t *testing.T) {
	t.Parallel() // it waits
	for _, keep := range []bool{false, true} {
		b := newBench(t)
		first, older := b.applyPlan(to(other), time.Hour)
		second, newer := b.applyPlan(to(others), time.Hour)
		require.NoError(t, syscall.Kill(older.Status().PID, syscall.SIGTERM))
		require.Eventually(t, func() bool {
			entries, _, err := b.journal.Entries()
			return err == nil && len(entries) == 3
		}, time.Minute, 5*time.Millisecond, "it has tried")
		require.ErrorIs(t, older.Keep(), change.ErrTooLate, "while it waits")
		assert.Equal(t, others, b.level())
		want := was
		if keep {
			want = others
			require.NoError(t, newer.Keep())
		} else {
			require.NoError(t, syscall.Kill(newer.Status().PID, syscall.SIGTERM))
		}
		require.Eventually(t, func() bool { return len(b.list()) == 0 }, time.Minute, 5*time.Millisecond)
		assert.Equal(t, want, b.level())
		for _, id := range []uint64{first.Entry, second.Entry} {
			assert.Equal(t, !keep, b.entry(id).Undone)
		}
		b.ended(older)
	}
}

func needNice(t *testing.T) {
	t.Helper()
	kerneltest.NeedNice(t, "to set real-time policies")
}

// TestHeirs takes a real-time policy from a child that was born with it as well.
func TestHeirs(t *testing.T) {
	needNice(t)
	b := newBench(t)
	_, g := b.applyPlan(attr.SetPolicy(attr.PolicyValue{Policy: kernel.FIFO, RTPrio: 7}), time.Hour)
	heir := b.heir()
	require.Equal(t, kernel.FIFO, b.policy(heir), "it inherits")
	require.NoError(t, syscall.Kill(g.Status().PID, syscall.SIGTERM))
	b.ended(g)
	for _, pid := range []kernel.TID{b.child, heir} {
		assert.Equal(t, kernel.Other, b.policy(pid))
	}
}

// TestGuardIsReady looks at a guard as others see it.
func TestGuardIsReady(t *testing.T) {
	needNice(t)
	b := newBench(t)
	_, g := b.applyPlan(to(raised), time.Hour)
	defer func() { assert.NoError(t, g.Keep()); b.ended(g) }()
	fs, pid := procfs.New("/"), kernel.TID(g.Status().PID)
	st, err := fs.Stat(pid)
	require.NoError(t, err)
	assert.Equal(t, processName, string(st.Comm))
	assert.EqualValues(t, pid, st.Session, "a session of its own")
	if said := strings.Join(g.Status().Caveats, "; "); strings.Contains(said, syscall.EBUSY.Error()) {
		t.Skip("guards of others have all DEADLINE time: ", said)
	}
	require.Eventually(t, func() bool { // a thread for which others had left no DEADLINE time gets it later
		tids, err := fs.Threads(pid)
		require.NoError(t, err)
		return !slices.ContainsFunc(tids, func(tid kernel.TID) bool { return b.policy(tid) != kernel.Deadline })
	}, time.Minute, 5*time.Millisecond, "whatever is guarded")
	status, err := fs.File(fmt.Sprint(pid), "status")
	require.NoError(t, err)
	if os.Geteuid() == 0 {
		assert.NotContains(t, string(status), "VmLck:\t       0 kB")
	}
}

// TestNoThreadIsStartedLate looks at a guard's threads during its life: one that the Go
// runtime starts late would be ordinary at first.
func TestNoThreadIsStartedLate(t *testing.T) {
	needNice(t)
	t.Parallel()
	runs := 3
	if testing.Short() {
		runs = 1
	}
	for range runs {
		b := newBench(t)
		_, g := b.applyPlan(to(raised), 3*time.Second)
		fs, pid := procfs.New("/"), kernel.TID(g.Status().PID)
		first, err := fs.Threads(pid)
		require.NoError(t, err)
		seen := len(first)
		assert.GreaterOrEqual(t, seen, spareThreads+2, "the calling thread and the runtime's monitor as well")
		for b.level() != was {
			tids, _ := fs.Threads(pid)
			seen = max(seen, len(tids))
			time.Sleep(time.Millisecond)
		}
		b.ended(g)
		assert.Equal(t, len(first), seen, "no thread is started while it waits and reverts")
	}
}

func FuzzFromLines(f *testing.F) {
	line, err := journal.Record{Kind: journal.Begin, ID: 1, Last: 1}.Line()
	require.NoError(f, err)
	f.Add(line)
	f.Add([]byte("\n"))
	f.Fuzz(func(t *testing.T, lines []byte) {
		if e, err := journal.FromLines(lines); err == nil {
			_, _, err = change.Local().Revert(context.Background(), journal.Entry{ID: e.ID}, map[attr.Key]bool{}, func() bool { return false })
			assert.NoError(t, err)
		}
	})
}

// TestEnvironmentOfAGuard has nothing that is not meant for piton.
func TestEnvironmentOfAGuard(t *testing.T) {
	b := newBench(t)
	b.Env = append(b.Env, "GOMAXPROCS=1", "GOMEMLIMIT=1MiB", "GODEBUG=asyncpreemptoff=1", "LD_PRELOAD=x", "PITON_X=1")
	b.tuner = b.tunerWith(b.Launcher)
	_, g := b.applyPlan(to(raised), time.Hour)
	defer func() { assert.NoError(t, g.Keep()); b.ended(g) }()
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", g.Status().PID))
	require.NoError(t, err)
	var found []string
	for _, kv := range strings.FieldsFunc(string(env), func(r rune) bool { return r == 0 }) {
		if !strings.HasPrefix(kv, "PITON_") {
			found = append(found, kv)
		}
	}
	assert.Empty(t, found)
	assert.Contains(t, string(env), "PITON_X=1")
}
