package kerneltest

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
)

// failures stands in for a test that the fake fails.
type failures []string

func (f *failures) Helper() {}
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

	held, err := fake.Hold(7)
	require.NoError(t, err)
	require.NoError(t, held.Alive())
	fake.Create(7, Task{}) // the number is reused
	require.ErrorIs(t, held.Alive(), syscall.ESRCH)
	require.ErrorIs(t, held.Signal(syscall.SIGTERM), syscall.ESRCH)
	require.NoError(t, held.Close())
	assert.Zero(t, fake.OpenHandles())

	fake.Fail("SetNice", 7, syscall.EPERM)
	require.ErrorIs(t, fake.SetNice(7, 1), syscall.EPERM)
	assert.Equal(t, []string{"SetAffinity(7, 1-2)", "SetAffinity(7, 2)", "SetNice(7, 1)"}, fake.Calls())
}
