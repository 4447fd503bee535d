package attr

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// wishes are settings of every attribute of tasks.
var wishes = []Setting{
	SetAffinity(cpuset.Of(0, 1, 2, 9)), SetNice(-5), {Autogroup, NiceValue(19)}, SetSlice(3 * time.Millisecond), SetSlice(0),
	SetPolicy(PolicyValue{Policy: kernel.RR, RTPrio: 7, ResetOnFork: true}), SetPolicy(PolicyValue{Keep: true, RTPrio: 20}),
	SetPolicy(PolicyValue{Policy: kernel.Deadline, Runtime: 5e6, Deadline: 1e7, Period: 1e7, Reclaim: true}),
	SetIOPrio(kernel.IOPrio{Class: kernel.IOBestEffort, Level: 4}), SetMemoryNear(cpuset.Of(1)), SetMemoryNear(cpuset.Set{}),
	{Memory, MemoryValue{Pages: Pages{0: 812, 1: 3}}}, SetCookie(CookieValue{New: true}), SetCookie(CookieValue{From: 3641}), SetCookie(CookieValue{}),
}

func TestSettingsAsData(t *testing.T) {
	clamps, err := Clamp.Parse("100,512")
	require.NoError(t, err)
	for _, s := range append(wishes, Setting{Clamp, clamps}) {
		b, err := json.Marshal(s)
		require.NoError(t, err)
		var back Setting
		require.NoError(t, json.Unmarshal(b, &back), "%s", b)
		assert.Equal(t, s.Attribute, back.Attribute)
		assert.IsType(t, s.Value, back.Value, "%s", b)
		assert.Equal(t, s.Value.String(), back.Value.String())
	}
	b, err := json.Marshal(wishes[1])
	require.NoError(t, err)
	assert.JSONEq(t, `{"attribute":"nice","value":"-5"}`, string(b))
	var usage UsageError
	assert.ErrorAs(t, json.Unmarshal([]byte(`{"attribute":"nice","value":"x"}`), &Setting{}), &usage)
	assert.ErrorAs(t, json.Unmarshal([]byte(`{"attribute":"niceness","value":"1"}`), &Setting{}), &usage)
}

func TestFileSettingsAsData(t *testing.T) {
	for _, s := range []FileSetting{
		SetIRQ(24, "irq 24 (eth0)", cpuset.Of(2, 3)),
		SetFile(RPSCPUs, "/sys/class/net/eth0/queues/rx-0/rps_cpus", "eth0 rx-0", cpuset.Set{}),
		SetFile(RFSEntries, "/proc/sys/net/core/rps_sock_flow_entries", "", Count(4096)),
		SetFile(Sysctl, "/proc/sys/net/ipv4/tcp_rmem", "net.ipv4.tcp_rmem", Line("4096 131072 6291456")),
	} {
		b, err := json.Marshal(s)
		require.NoError(t, err)
		var back FileSetting
		require.NoError(t, json.Unmarshal(b, &back), "%s", b)
		assert.Equal(t, s.Path+s.Name+s.Value.String(), back.Path+back.Name+back.Value.String())
		assert.IsType(t, s.Value, back.Value)
		assert.NoError(t, back.Check())
	}
}

func TestChangesAsData(t *testing.T) {
	c := Change{Object: Object{PID: 3641, TID: 3642, StartTicks: 77, Comm: "nq"}, Attribute: Nice, Before: NiceValue(0), After: NiceValue(5),
		Status: Failed, Taken: true, Reason: "why", Err: fmt.Errorf("set: %w", markedError{errors.New("no"), ErrNotPermitted})}
	back := storedAndRead(t, c)
	assert.EqualError(t, back.Err, "set: no")
	assert.ErrorIs(t, back.Err, ErrNotPermitted)
	assert.NotErrorIs(t, back.Err, ErrGone)
	back.Err = c.Err
	assert.Equal(t, c, back)

	c.Attribute, c.Before, c.After = "later", Opaque("a"), Opaque("b")
	back = storedAndRead(t, c)
	assert.Equal(t, c.Before, back.Before, "of an attribute that this piton does not know")
	assert.Error(t, json.Unmarshal([]byte(`{"attribute":"nice","before":"1","after":"x"}`), &back))
}
