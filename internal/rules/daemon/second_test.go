package daemon

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/kernel"
	"piton/internal/kernel/kerneltest"
	"piton/internal/rules"
)

// Second is part of Applier.
func (w *world) Second(_ context.Context, first []Effect) ([]Effect, error) {
	if w.busy > 0 {
		w.busy--
		return nil, w.passing
	}
	for _, d := range first {
		w.again = append(w.again, d.PID)
	}
	return nil, nil
}

// threadsRole makes the test binary a process of several threads.
const threadsRole = "PITON_TEST_THREADS"

// TestThreadsRole is that process, until its input ends.
func TestThreadsRole(t *testing.T) {
	if os.Getenv(threadsRole) == "" {
		t.Skip("for other tests")
	}
	ready := make(chan bool)
	for range 4 {
		go func() {
			runtime.LockOSThread()
			ready <- true
			select {}
		}()
		<-ready
	}
	fmt.Println()
	_, _ = os.Stdin.Read(make([]byte, 1))
	os.Exit(0)
}

// TestSecond is that threads which were born with what the process had before get its rule,
// and those with a value of their own keep that.
func TestSecond(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, "-test.run=^TestThreadsRole$")
	cmd.Env = append(os.Environ(), threadsRole+"=1")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	outPipe, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	_, err = bufio.NewReader(outPipe).ReadString('\n')
	require.NoError(t, err)

	c, j := changer(t, nil)
	a, _ := twoRules(t)
	pid := kernel.TID(cmd.Process.Pid)
	effects, _, _ := c.Apply(context.Background(), []rules.Decision{decision(t, pid, a)})
	require.Equal(t, Done, effects[0].Status)
	again, passing := c.Second(context.Background(), effects)
	require.NoError(t, passing)
	assert.Empty(t, again, "all have it")

	var others []kernel.TID
	for _, c := range effects[0].Changes {
		if c.TID != pid {
			others = append(others, c.TID)
		}
	}
	require.GreaterOrEqual(t, len(others), 2)
	missed, own := others[0], others[1]
	effects[0].Changes = slices.DeleteFunc(effects[0].Changes, func(c change.Change) bool { return c.TID == missed || c.TID == own })
	before := kernel.IOPrio(effects[0].Changes[0].Before.(attr.IOPrioValue))
	require.NoError(t, kerneltest.Of(t, pid, missed).SetIOPrio(before))
	require.NoError(t, kerneltest.Of(t, pid, own).SetIOPrio(kernel.IOPrio{Class: kernel.IOBestEffort, Level: 7}))
	again, passing = c.Second(context.Background(), effects)
	require.NoError(t, passing)
	require.Len(t, again, 1)
	assert.Equal(t, Done, again[0].Status)
	require.Len(t, again[0].Changes, 1)
	assert.Equal(t, missed, again[0].Changes[0].TID)
	for tid, want := range map[kernel.TID]string{missed: "best-effort:1", own: "best-effort:7", pid: "best-effort:1"} {
		now, err := c.Tuner.Value(attr.IOPrio, tid)
		require.NoError(t, err)
		assert.Equal(t, want, attr.Text(now))
	}
	entries, _, err := j.Entries()
	require.NoError(t, err)
	require.Len(t, entries, 2)
	assert.Equal(t, `rule "a"`, entries[1].Reason)
}

// TestLookAgain is that a process is looked at once more, also while nothing can be changed.
func TestLookAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, one)
		require.NoError(t, w.run(
			func(w *world) { w.tell(w.begin(5, "a")) },
			func(w *world) { assert.Empty(t, w.again) },
			later(secondAfter),
			func(w *world) { assert.Equal(t, []kernel.TID{5}, w.again); w.tell(w.begin(6, "a")) },
			func(w *world) { w.busy, w.passing = 1, syscall.ENOSPC },
			later(secondAfter), later(againLast), later(0),
		))
		assert.Equal(t, []kernel.TID{5, 6}, w.again)
		assert.Empty(t, w.d.seconds)
	})
}
