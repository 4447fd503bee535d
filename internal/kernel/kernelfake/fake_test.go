package kernelfake

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// failures stands in for a test that the fake fails.
type failures []string

func (f *failures) Errorf(format string, args ...any) {
	*f = append(*f, fmt.Sprintf(format, args...))
}

func TestFakeFailsOnUnexpectedCalls(t *testing.T) {
	var failed failures
	fake := New(&failed)
	_, err := fake.Nice(7)
	require.ErrorIs(t, err, syscall.ESRCH)
	assert.Equal(t, failures{"unexpected call Nice(7): the test created no such task"}, failed)

	failed = nil
	fake.Create(7, Task{})
	fake.Kill(7)
	_, err = fake.Nice(7)
	require.ErrorIs(t, err, syscall.ESRCH)
	assert.Empty(t, failed, "a task that ended is no surprise")
}

func TestFakeKernelBehaviour(t *testing.T) {
	fake := New(t)
	fake.Create(7, Task{Affinity: cpuset.Of(0, 1), Cpuset: cpuset.Of(0, 1)})
	require.NoError(t, fake.SetAffinity(7, cpuset.Of(1, 2)), "cut without a word")
	assert.Equal(t, "1", fake.Task(7).Affinity.String())
	require.ErrorIs(t, fake.SetAffinity(7, cpuset.Of(2)), syscall.EINVAL)

	held := hold(t, fake, 7, 0)
	require.NoError(t, held.Alive())
	fake.Fail("SetNice", 7, syscall.EPERM)
	require.ErrorIs(t, held.Thread(7, 0).SetNice(1), syscall.EPERM)
	assert.Equal(t, []string{"SetAffinity(7, 1-2)", "SetAffinity(7, 2)", "SetNice(7, 1)"}, fake.Calls())
	fake.Create(7, Task{}) // the number is reused
	require.ErrorIs(t, held.Alive(), syscall.ESRCH)
	require.ErrorIs(t, held.Signal(syscall.SIGTERM), syscall.ESRCH)
	require.NoError(t, held.Close())
	assert.Zero(t, fake.Held())
}

func hold(t *testing.T, fake *Fake, pid kernel.TID, start uint64) kernel.Process {
	t.Helper()
	held, err := fake.Hold(pid, start)
	require.NoError(t, err)
	return held
}

func TestFakeTellsTasksApart(t *testing.T) {
	fake := New(t)
	fake.Create(7, Task{TGID: 7, Start: 100})
	fake.Create(8, Task{TGID: 7, Start: 101})
	fake.Create(9, Task{TGID: 9, Start: 102})
	_, err := fake.Hold(7, 99)
	require.ErrorIs(t, err, syscall.ESRCH)
	held := hold(t, fake, 7, 100)
	require.NoError(t, held.Thread(8, 101).SetNice(1))
	require.ErrorIs(t, held.Thread(8, 100).SetNice(2), syscall.ESRCH)
	require.ErrorIs(t, held.Thread(9, 0).SetNice(3), syscall.ESRCH, "it is of another process")
	assert.Equal(t, []string{"SetNice(8, 1)"}, fake.Calls(), "before the write")

	fake.Before("SetNice", 8, func() { fake.Create(8, Task{TGID: 7, Start: 200}) })
	require.NoError(t, held.Thread(8, 0).SetNice(4), "any thread of the process with the number")
	fake.Before("SetNice", 8, func() { fake.Create(8, Task{TGID: 7, Start: 300}) })
	err = held.Thread(8, 200).SetNice(5)
	var lost *kernel.LostError
	require.ErrorAs(t, err, &lost)
	require.ErrorIs(t, err, syscall.ESRCH)
	assert.Equal(t, 5, fake.Task(8).Attr.Nice, "the successor has it")

	fake.Fail("Hold", 7, syscall.ENOSYS)
	weak := hold(t, fake, 7, 0)
	require.ErrorIs(t, weak.Weak(), syscall.ENOSYS)
	require.ErrorIs(t, weak.Thread(7, 0).Still(), syscall.ESRCH, "nothing tells")
	require.NoError(t, weak.Thread(7, 100).Still())
}
