package attr_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/changetest"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// ordinary is an ordinary user's machine.
func ordinary(t *testing.T, limits kernel.Limits) *attr.Machine {
	m := changetest.New(t)
	m.Spawn(10, 10)
	s := m.Sources()
	s.Rights, s.Limits = changetest.NoRights, func(kernel.TID) (kernel.Limits, error) { return limits, nil }
	return attr.NewMachine(s)
}

// TestRightsOfAUserNamespace: its root has every capability there, which the kernel asks of the
// initial one.
func TestRightsOfAUserNamespace(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	s := m.Sources()
	s.Limits = func(kernel.TID) (kernel.Limits, error) { return kernel.Limits{}, nil }
	s.Rights = func() (kernel.Capabilities, error) { return 1 << kernel.CapSysNice, nil }
	c := attr.Change{Object: attr.Object{PID: 10, TID: 10}, Attribute: attr.Nice, Before: attr.NiceValue(0), After: attr.NiceValue(15)}
	s.Initial = func(string) bool { return true }
	assert.NoError(t, attr.NewMachine(s).NoWayBack(c))
	s.Initial = func(kind string) bool { return kind != "user" }
	assert.ErrorContains(t, attr.NewMachine(s).NoWayBack(c), "lowering nice from 15 to 0 needs CAP_SYS_NICE in the initial user namespace")
	c.Attribute, c.Before, c.After = attr.Affinity, attr.SetAffinity(cpuset.Of(0)).Value, attr.SetAffinity(cpuset.Of(1)).Value
	assert.NoError(t, attr.NewMachine(s).NoWayBack(c), "that takes its owner only")
}

// TestWaysBack is what can be reverted, of every attribute of tasks.
func TestWaysBack(t *testing.T) {
	for _, tt := range []struct {
		attribute     attr.Attribute
		before, after string
		limits        kernel.Limits
		barred        string // the beginning of why not; "" = there is a way back
	}{
		{attribute: attr.Nice, before: "0", after: "15", barred: "lowering nice from 15 to 0 needs CAP_SYS_NICE (or a RLIMIT_NICE of at least 20, it is 0"},
		{attribute: attr.Nice, before: "0", after: "15", limits: kernel.Limits{Nice: 20}},
		{attribute: attr.Nice, before: "5", after: "10", limits: kernel.Limits{Nice: 14}, barred: "lowering nice"},
		{attribute: attr.Nice, before: "5", after: "10", limits: kernel.Limits{Nice: 15}},
		{attribute: attr.Nice, before: "10", after: "0"},
		{attribute: attr.Policy, before: "other", after: "idle", barred: "leaving SCHED_IDLE needs CAP_SYS_NICE (or a RLIMIT_NICE of at least 20"},
		{attribute: attr.Policy, before: "other", after: "idle", limits: kernel.Limits{Nice: 20}},
		{attribute: attr.Policy, before: "idle", after: "batch"},
		{attribute: attr.Policy, before: "other", after: "batch"},
		{attribute: attr.Policy, before: "other", after: "ext"},
		{attribute: attr.Policy, before: "other", after: "fifo:5"},
		{attribute: attr.Policy, before: "other", after: "batch,reset-on-fork", barred: "dropping reset-on-fork needs CAP_SYS_NICE"},
		{attribute: attr.Policy, before: "fifo:5", after: "other", limits: kernel.Limits{RTPrio: 4}, barred: "real-time policy FIFO:5 needs CAP_SYS_NICE (or a RLIMIT_RTPRIO of at least 5, it is 4"},
		{attribute: attr.Policy, before: "fifo:5", after: "other", limits: kernel.Limits{RTPrio: 5}},
		{attribute: attr.Policy, before: "fifo:5", after: "rr:7", barred: "real-time policy FIFO:5 needs CAP_SYS_NICE (or a RLIMIT_RTPRIO of at least 1"},
		{attribute: attr.Policy, before: "fifo:5", after: "fifo:7"},
		{attribute: attr.Policy, before: "deadline:1ms/10ms/10ms", after: "other", barred: "DEADLINE:1ms/10ms/10ms needs CAP_SYS_NICE"},
		{attribute: attr.IOPrio, before: "none", after: "idle"},
		{attribute: attr.IOPrio, before: "real-time:0", after: "best-effort:4", barred: "I/O priority real-time:0 needs CAP_SYS_NICE"},
		{attribute: attr.Autogroup, before: "0", after: "15"},
		{attribute: attr.Autogroup, before: "-5", after: "0", barred: "a session's nice value below 0 needs CAP_SYS_NICE"},
		{attribute: attr.Autogroup, before: "-5", after: "0", limits: kernel.Limits{Nice: 25}},
		{attribute: attr.Affinity, before: "0-3", after: "1"},
		{attribute: attr.Slice, before: "default", after: "3ms"},
		{attribute: attr.Clamp, before: "0,1024", after: "0,512"},
		{attribute: attr.CoreCookie, before: "none", after: "0x1"},
	} {
		c := attr.Change{Object: attr.Object{PID: 10, TID: 10}, Attribute: tt.attribute}
		var err, err2 error
		c.Before, err = tt.attribute.Parse(tt.before)
		c.After, err2 = tt.attribute.Parse(tt.after)
		require.NoError(t, err)
		require.NoError(t, err2)
		name := fmt.Sprintf("%s %s → %s with %+v", tt.attribute, tt.before, tt.after, tt.limits)
		why := ordinary(t, tt.limits).NoWayBack(c)
		if tt.barred == "" {
			assert.NoError(t, why, name)
			continue
		}
		require.ErrorIs(t, why, attr.ErrNotPermitted, name)
		assert.True(t, strings.HasPrefix(why.Error(), tt.barred), "%s: %v", name, why)
		m := changetest.New(t)
		assert.NoError(t, attr.NewMachine(m.Sources()).NoWayBack(c), "%s, with CAP_SYS_NICE", name)
		tried := c
		tried.After, tried.Tried = c.Before, []attr.Value{c.Before, c.After}
		assert.Error(t, ordinary(t, tt.limits).NoWayBack(tried), "%s, as one of what is tried", name)
	}
}

// TestOneWaySysctls are final whatever the rights.
func TestOneWaySysctls(t *testing.T) {
	for _, tt := range []struct {
		name          string
		before, after string
		final         bool
	}{
		{"kernel/kexec_load_disabled", "0", "1", true},
		{"kernel/modules_disabled", "0", "1", true},
		{"kernel/unprivileged_bpf_disabled", "2", "1", true},
		{"kernel/unprivileged_bpf_disabled", "2", "0", false},
		{"kernel/unprivileged_bpf_disabled", "0", "2", false},
		{"kernel/yama/ptrace_scope", "1", "3", true},
		{"kernel/yama/ptrace_scope", "1", "2", false},
		{"kernel/kexec_load_limit_panic", "-1", "5", true},
		{"kernel/kexec_load_limit_reboot", "5", "3", true},
		{"kernel/tainted", "0", "512", true},
		{"vm/swappiness", "60", "1", false},
	} {
		path := "/proc/sys/" + tt.name
		m := changetest.New(t)
		m.Settings.Put(path, tt.before+"\n")
		tuner := m.Tuner(change.Options{})
		p := changetest.Plan(t, tuner, changetest.File(attr.Sysctl, path, "", attr.Line(tt.after)))
		assert.Equal(t, tt.final, p.OneWay(), "%v", tt)
		back := p.Changes[0]
		back.Before, back.After = back.After, back.Before
		assert.Equal(t, tt.final, tuner.Barred(back) != nil, "%v", tt)
		if tt.final {
			assert.Equal(t, "value of "+path+" cannot be undone: only a reboot sets it to "+tt.before, p.Danger())
			assert.ErrorIs(t, tuner.Barred(back), attr.ErrNotSupported)
			m.Settings.Put(path, tt.after+"\n")
			c := changetest.Plan(t, tuner, changetest.File(attr.Sysctl, path, "", attr.Line(tt.before))).Changes[0]
			assert.Equal(t, []any{attr.Refused, "only a reboot sets it to " + tt.before}, []any{c.Status, c.Reason})
		}
	}
}
