package guard

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/tune"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == Verb {
		if err := Main(); err != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// bench is a journal with what changes and guards a child.
type bench struct {
	*testing.T
	Launcher
	journal *tune.Journal
	tuner   *tune.Tuner
	child   kernel.TID
	was     int       // nice of the child
	in      io.Writer // of the child: a line makes it start a child of its own,
	out     *bufio.Scanner
}

func newBench(t *testing.T) *bench {
	path := filepath.Join(t.TempDir(), strings.Repeat("long", 30), "journal") // longer than the address of a socket may be
	j, err := tune.OpenJournal(path)
	require.NoError(t, err)
	b := &bench{T: t, Launcher: Launcher{Env: os.Environ(), Journal: path}, journal: j, tuner: tune.New(tune.Options{Journal: j})}
	cmd := exec.Command("sh", "-c", `read line; sleep 60 & echo $!; read line`)
	b.in, err = cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	b.out = bufio.NewScanner(out)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	b.child = kernel.TID(cmd.Process.Pid)
	b.was = b.nice()
	return b
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

func (b *bench) plan(s tune.Settings) tune.Plan {
	plan, err := b.tuner.Plan(b.Context(), []tune.Request{{Targets: []tune.Target{{TID: b.child}}, Settings: s}})
	require.NoError(b, err)
	return plan
}

func (b *bench) nice() int {
	n, err := kernel.System().Nice(b.child)
	require.NoError(b, err)
	return n
}

// ended waits for a guard's end.
func (b *bench) ended(g *Guard) {
	require.Eventually(b, func() bool {
		st, err := procfs.New("/").Stat(kernel.TID(g.PID))
		return err != nil || st.State == 'Z'
	}, time.Minute, 5*time.Millisecond, "the guard ends")
	left, err := filepath.Glob(Dir(b.Journal) + "/*")
	require.NoError(b, err)
	assert.Empty(b, left, "it leaves nothing")
}

func (b *bench) entry(id uint64) tune.Entry {
	entries, damage, err := b.journal.Entries()
	require.NoError(b, err)
	require.Empty(b, damage)
	for _, e := range entries {
		if e.ID == id {
			return e
		}
	}
	b.Fatalf("no entry %d", id)
	return tune.Entry{}
}

func raised() tune.Settings { return niced(15) }

func niced(n int) tune.Settings { return tune.Settings{Nice: &n} }

func TestTakenBackWithoutAnAnswer(t *testing.T) {
	b := newBench(t)
	r, g, err := b.Apply(t.Context(), b.tuner, b.plan(raised()), 300*time.Millisecond)
	require.NoError(t, err)
	require.NotNil(t, g)
	assert.Equal(t, 1, r.Count(tune.Done))
	assert.Equal(t, r.Entry, g.Entry)
	b.ended(g)
	assert.ErrorIs(t, g.Keep(), ErrTooLate)
	assert.Equal(t, b.was, b.nice())
	assert.True(t, b.entry(g.Entry).Undone)
	assert.Contains(t, b.entry(g.Entry+1).Command, "not confirmed within 300ms")
	assert.Equal(t, []uint64{g.Entry}, b.entry(g.Entry+1).Undoes)
}

func TestKept(t *testing.T) {
	b := newBench(t)
	_, g, err := b.Apply(t.Context(), b.tuner, b.plan(raised()), time.Hour)
	require.NoError(t, err)
	require.NoError(t, g.Keep())
	b.ended(g)
	assert.Equal(t, 15, b.nice())
	assert.False(t, b.entry(g.Entry).Undone)
}

func TestKeptByAnother(t *testing.T) {
	b := newBench(t)
	armed, err := List(Dir(b.Journal))
	require.NoError(t, err)
	assert.Empty(t, armed, "there is no such directory yet")
	_, g, err := b.Apply(t.Context(), b.tuner, b.plan(raised()), time.Hour)
	require.NoError(t, err)
	g.Leave()
	// What a guard that was killed leaves, and what is none.
	dead, err := net.Listen("unix", filepath.Join(shortDir(t), "x"))
	require.NoError(t, err)
	dead.(*net.UnixListener).SetUnlinkOnClose(false)
	stale := filepath.Join(Dir(b.Journal), "stale"+socketSuffix)
	require.NoError(t, os.Rename(dead.Addr().String(), stale))
	require.NoError(t, dead.Close())

	armed, err = List(Dir(b.Journal))
	require.NoError(t, err)
	require.Len(t, armed, 1)
	assert.NoFileExists(t, stale)
	assert.Equal(t, g.Entry, armed[0].Entry)
	assert.Equal(t, g.PID, armed[0].PID)
	assert.Equal(t, Waiting, armed[0].State)
	assert.Greater(t, armed[0].Left, 50*time.Minute)
	require.NoError(t, armed[0].Keep())
	b.ended(g)
	assert.Equal(t, 15, b.nice())
	assert.ErrorIs(t, armed[0].Keep(), ErrTooLate)
}

func shortDir(t *testing.T) string {
	dir, err := os.MkdirTemp("/tmp", "")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// TestTakenBackWhenPitonEnds is a piton that dies between the journal and the end
// of the change.
func TestTakenBackWhenPitonEnds(t *testing.T) {
	b := newBench(t)
	plan := b.plan(raised())
	g, err := b.arm(b.tuner, plan, time.Hour)
	require.NoError(t, err)
	lines := 0
	plan.Mirror = func(line []byte) error {
		if lines++; lines > 1 { // the end is never told
			return nil
		}
		return g.mirror(line)
	}
	_, err = b.tuner.Apply(t.Context(), plan)
	require.NoError(t, err)
	require.Equal(t, 15, b.nice())
	g.Leave()
	b.ended(g)
	assert.Equal(t, b.was, b.nice())
}

// TestTakenBackInTheMiddle is a change that takes longer than it may: what is made
// after it was taken back is taken back as well.
func TestTakenBackInTheMiddle(t *testing.T) {
	b := newBench(t)
	plan := b.plan(raised())
	g, err := b.arm(b.tuner, plan, 100*time.Millisecond)
	require.NoError(t, err)
	lines := 0
	plan.Mirror = func(line []byte) error {
		if lines++; lines == 2 {
			require.Eventually(t, func() bool { return b.nice() == b.was }, time.Minute, 5*time.Millisecond, "it is taken back")
			require.NoError(t, kernel.System().SetNice(b.child, 15)) // a straggler
		}
		return g.mirror(line)
	}
	_, err = b.tuner.Apply(t.Context(), plan)
	require.ErrorIs(t, err, ErrTooLate)
	g.Leave()
	b.ended(g)
	assert.Equal(t, b.was, b.nice())
}

func TestNothingChangedWithoutGuard(t *testing.T) {
	b := newBench(t)
	b.Program = "/bin/false"
	_, g, err := b.Apply(t.Context(), b.tuner, b.plan(raised()), time.Hour)
	require.Error(t, err)
	assert.Nil(t, g)
	assert.ErrorContains(t, err, "nothing was changed")
	assert.Equal(t, b.was, b.nice())
	entries, _, err := b.journal.Entries()
	require.NoError(t, err)
	assert.Empty(t, entries)

	// One that is killed between arming and the change.
	b.Program = ""
	plan := b.plan(raised())
	g, err = b.arm(b.tuner, plan, time.Hour)
	require.NoError(t, err)
	require.NoError(t, g.cmd.Process.Kill())
	_, err = g.cmd.Process.Wait()
	require.NoError(t, err)
	plan.Mirror = g.mirror
	_, err = b.tuner.Apply(t.Context(), plan)
	require.ErrorIs(t, err, errGone)
	assert.Equal(t, b.was, b.nice())
}

func TestNothingToGuard(t *testing.T) {
	b := newBench(t)
	require.NoError(t, kernel.System().SetNice(b.child, 15))
	r, g, err := b.Apply(t.Context(), b.tuner, b.plan(raised()), time.Hour)
	require.NoError(t, err)
	assert.Nil(t, g)
	assert.Equal(t, 1, r.Count(tune.Unchanged))
}

func TestTakenBackOnSIGTERM(t *testing.T) {
	b := newBench(t)
	_, g, err := b.Apply(t.Context(), b.tuner, b.plan(raised()), time.Hour)
	require.NoError(t, err)
	g.Leave()
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT} {
		require.NoError(t, syscall.Kill(g.PID, sig))
	}
	armed, err := List(Dir(b.Journal))
	require.NoError(t, err)
	require.Len(t, armed, 1, "it ignores what a terminal sends")
	require.NoError(t, syscall.Kill(g.PID, syscall.SIGTERM))
	b.ended(g)
	assert.Equal(t, b.was, b.nice())
}

// TestTakenBackInTurn is two changes of the same, of which the older is to be taken
// back first: it finds another value until the newer has been.
func TestTakenBackInTurn(t *testing.T) {
	for _, keep := range []bool{false, true} {
		b := newBench(t)
		_, older, err := b.Apply(t.Context(), b.tuner, b.plan(niced(5)), time.Hour)
		require.NoError(t, err)
		_, newer, err := b.Apply(t.Context(), b.tuner, b.plan(niced(10)), time.Hour)
		require.NoError(t, err)
		require.NoError(t, syscall.Kill(older.PID, syscall.SIGTERM))
		require.Eventually(t, func() bool {
			entries, _, err := b.journal.Entries()
			return err == nil && len(entries) == 3
		}, time.Minute, 5*time.Millisecond, "it has tried")
		require.ErrorIs(t, older.Keep(), ErrTooLate, "while it waits")
		assert.Equal(t, 10, b.nice())
		want := b.was
		if keep {
			want = 10
			require.NoError(t, newer.Keep())
		} else {
			newer.Leave()
			require.NoError(t, syscall.Kill(newer.PID, syscall.SIGTERM))
		}
		b.ended(older)
		assert.Equal(t, want, b.nice())
		for _, g := range []*Guard{older, newer} {
			assert.Equal(t, !keep, b.entry(g.Entry).Undone)
		}
	}
}

// TestHeirs takes a real-time policy from a child that was born with it as well.
func TestHeirs(t *testing.T) {
	if caps, err := kernel.UsableCapabilities(); err != nil || !caps.Has(kernel.CapSysNice) {
		t.Skip("needs CAP_SYS_NICE to set real-time policies")
	}
	b := newBench(t)
	policy := tune.PolicySetting{Policy: kernel.FIFO, RTPrio: 7}
	_, g, err := b.Apply(t.Context(), b.tuner, b.plan(tune.Settings{Policy: &policy}), time.Hour)
	require.NoError(t, err)
	g.Leave()
	heir := b.heir()
	attr, err := kernel.System().Attr(heir)
	require.NoError(t, err)
	require.Equal(t, kernel.FIFO, attr.Policy, "it inherits")
	require.NoError(t, syscall.Kill(g.PID, syscall.SIGTERM))
	b.ended(g)
	for _, pid := range []kernel.TID{b.child, heir} {
		attr, err := kernel.System().Attr(pid)
		require.NoError(t, err)
		assert.Equal(t, kernel.Other, attr.Policy)
	}
}

func FuzzMirroredEntry(f *testing.F) {
	f.Add([]byte(`{"v":1,"kind":"begin","id":1,"last":1,"boot":"b"}` + "\n"))
	f.Add([]byte("\n"))
	f.Fuzz(func(t *testing.T, lines []byte) {
		if e, err := tune.MirroredEntry(lines); err == nil {
			_, err = tune.New(tune.Options{}).PlanRevert(context.Background(), tune.Entry{ID: e.ID}, 0)
			assert.NoError(t, err)
		}
	})
}
