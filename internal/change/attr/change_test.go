package attr

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
)

// A change that was stored is what it was, but for its error, which is what it Is.
func TestStoredChanges(t *testing.T) {
	task, file := Object{PID: 10, TID: 11, StartTicks: 12, Comm: "x"}, Object{Path: "/proc/sys/kernel/panic", Name: "kernel.panic"}
	for _, c := range []Change{
		{Object: task, Attribute: Affinity, Before: cpuset.Of(0, 1), After: cpuset.Of(1), Status: Done, Reason: "why"},
		{Object: task, Attribute: Slice, After: SliceValue(5e6), Status: Failed, Taken: true},
		{Object: task, Attribute: Memory, Before: MemoryValue{Pages: Pages{0: 5, 1: 6}}, After: MemoryValue{Nodes: cpuset.Of(1)}, Status: Planned},
		{Object: file, Attribute: Sysctl, Before: Line(""), After: Line("1 2"), Status: Done},
		{Object: file, Attribute: "novel", Before: Opaque("a"), After: Opaque("b"), Status: Done},
	} {
		assert.Equal(t, c, storedAndRead(t, c))
	}
	c := storedAndRead(t, Change{Object: task, Attribute: Nice, Err: fmt.Errorf("set: %w", ErrGone)})
	assert.True(t, c.Gone())
	assert.EqualError(t, c.Err, "set: "+ErrGone.Error())
	var usage UsageError
	require.ErrorAs(t, json.Unmarshal([]byte(`{"attribute":"nice","before":"many","after":"5"}`), &c), &usage)
}

func storedAndRead(t *testing.T, c Change) (again Change) {
	t.Helper()
	data, err := json.Marshal(c)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &again))
	return again
}
