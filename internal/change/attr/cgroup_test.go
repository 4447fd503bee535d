package attr_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/changetest"
	"piton/internal/change/journal"
	"piton/internal/kernel/kernelfake"
)

// ofGroup asks for a value of the control group of process 10, in people's words.
func ofGroup(t *testing.T, a attr.Attribute, value string) []change.Request {
	t.Helper()
	v, err := a.Parse(value)
	require.NoError(t, err)
	return changetest.One(attr.Setting{Attribute: a, Value: v}, 10)
}

// Each pair of values, there and back: the kernel takes every step, and what it forgets is restored.
func TestGroupRoundTrip(t *testing.T) {
	values := map[attr.Attribute][]string{
		attr.Weight: {"100", "200", "idle", "10000"},
		attr.Quota:  {"none burst 0", "20% burst 0", "20% burst 20ms", "10% burst 5ms", "50% burst 30ms", "none burst 60ms"},
	}
	for _, unified := range []bool{true, false} {
		m := changetest.New(t)
		m.Spawn(10, 10)
		m.Spawn(10, 11)
		m.Group("/web", unified, 10)
		tuner := m.Tuner(change.Options{Journal: journal.New(&journal.Memory{}, journal.Where{Boot: "this"})})
		for a, all := range values {
			for _, from := range all {
				for _, to := range all {
					changetest.Apply(t, tuner, ofGroup(t, a, from))
					first := m.Settings.All()
					out := changetest.Apply(t, tuner, ofGroup(t, a, to))
					require.Len(t, out.Changes, 1)
					assert.Equal(t, from != to, out.Count(attr.Done) == 1, "%s to %s: %+v", from, to, out.Changes)
					if out.Changed() {
						assert.NotEqual(t, first, m.Settings.All())
						changetest.Undo(t, tuner, change.UndoRequest{Last: 1})
					}
					assert.Equal(t, first, m.Settings.All(), "%s to %s and back", from, to)
				}
			}
		}
	}
}

func TestGroupSaysWhoseItIs(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	m.Spawn(20, 20)
	m.Write("proc/sys/kernel/osrelease", "6.12.1\n")
	dir := m.Group("/system.slice/web.service", true, 10)
	m.Write(dir+"/cgroup.procs", "10\n20\n")
	m.Write(dir+"/inside/cgroup.procs", "30\n")
	m.Write("etc/systemd/system/web.service", "[Service]\nCPUWeight=50\nCPUQuota=20%\n")
	m.Write("proc/20/cgroup", "0::/system.slice/web.service\n")
	requests := ofGroup(t, attr.Weight, "200")
	requests[0].Targets = append(requests[0].Targets, change.Target{TID: 20})
	p := changetest.Plan(t, m.Tuner(change.Options{}), requests)
	assert.Equal(t, []string{"weight 100 to 200: planned"}, changetest.Brief(p.Changes), "a group is changed once")
	assert.Equal(t, "cgroup /system.slice/web.service", p.Changes[0].Object.Object())
	assert.Equal(t, []string{
		"cgroup /system.slice/web.service has 3 processes: all of them get the weight", oneGroup,
		"systemd unit web.service sets CPUWeight=50 whenever it starts its processes; change it there to keep it: systemctl edit web.service",
	}, change.Texts(p.Warnings))
	m.Write("sys/kernel/sched_ext/state", "enabled\n")
	m.Write("sys/kernel/sched_ext/root/ops", "rusty\n")
	said := change.Texts(changetest.Plan(t, m.Tuner(change.Options{}), ofGroup(t, attr.Quota, "20%")).Warnings)
	assert.Equal(t, "the sched_ext scheduler rusty is in force: it decides whether the quota counts", said[1])
}

func TestGroupThatHasNone(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	why := func(a attr.Attribute, value string) string {
		c := changetest.Plan(t, m.Tuner(change.Options{}), ofGroup(t, a, value)).Changes[0]
		assert.Equal(t, attr.Refused, c.Status)
		return c.Reason
	}
	for file, text := range kernelfake.NewGroup("/sys/fs/cgroup/cpu", false) {
		m.Settings.Put(file, text)
	}
	m.Settings.Put("/sys/fs/cgroup/cpu/release_agent", "\n")
	assert.Equal(t, "it is in the root cgroup, which has no weight: only groups below have one", why(attr.Weight, "5"), "of version 1")

	m.Group("/box", true, 10)
	assert.Equal(t, "cpu.weight takes whole numbers from 1 to 10000, not 0.5", why(attr.Weight, "0.5"))
	for _, gone := range []string{"cpu.idle", "cpu.max.burst"} {
		m.Settings.Remove("/sys/fs/cgroup/unified/box/" + gone)
	}
	assert.Equal(t, "this kernel has no cpu.idle, which came with Linux 5.15", why(attr.Weight, "idle"))
	assert.Equal(t, "this kernel has no cpu.max.burst, which came with Linux 5.14", why(attr.Quota, "20% burst 5ms"))
	for group, want := range map[string]string{
		"/":    "it is in the root cgroup, which has no quota: only groups below have one",
		"/../": "its cgroup /../ is not visible here, as in a container: run piton on the host",
		"/box/a/b": "its cgroup /box/a/b has no cpu controller, and competes as part of /box; to give it one: " +
			"echo +cpu | sudo tee /sys/fs/cgroup/unified/box/cgroup.subtree_control /sys/fs/cgroup/unified/box/a/cgroup.subtree_control",
		"/system.slice/web.service": "its cgroup /system.slice/web.service has no cpu controller, and competes as part of /; to give it one: " +
			"systemctl set-property --runtime web.service CPUQuota=…",
	} {
		m.Write("proc/10/cgroup", "0::"+group+"\n")
		assert.Equal(t, want, why(attr.Quota, "20%"))
	}
}

// A group that is named is that one, whoever is in it and below.
func TestGroupAt(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	dir := m.Group("/box", true, 10)
	m.Write(dir+"/cgroup.procs", "")
	tuner := m.Tuner(change.Options{})
	o, err := tuner.GroupAt("box", attr.Weight)
	require.NoError(t, err)
	assert.Equal(t, attr.Object{Path: "/sys/fs/cgroup/unified/box/cpu.weight", Name: "cgroup /box"}, o)
	_, err = tuner.GroupAt("/none", attr.Weight)
	assert.EqualError(t, err, "there is no cgroup /none with a cpu controller")
	_, err = tuner.GroupAt("/", attr.Quota)
	assert.EqualError(t, err, "cgroup / is the root, which has no quota: only groups below have one")
	assert.ErrorIs(t, err, attr.ErrNotSupported)
}

// A group that was removed has nothing to undo, and neither has a later one with its path.
func TestUndoOfAGroupThatIsGone(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	dir := m.Group("/web", false, 10)
	tuner := m.Tuner(change.Options{Journal: changetest.Journal(t)})
	changetest.Apply(t, tuner, ofGroup(t, attr.Weight, "200"))
	require.NoError(t, os.Rename(filepath.Join(m.Dir, dir), filepath.Join(m.Dir, dir+"-was")))
	m.Group("/web", false, 10)
	m.Settings.Put(dir+"/cpu.shares", "2048\n")
	out := changetest.Undo(t, tuner, change.UndoRequest{Last: 1})
	assert.Equal(t, attr.Unchanged, out.Changes[0].Status)
	assert.Equal(t, "2048\n", m.Settings.All()[dir+"/cpu.shares"])
}

// Where a later step fails, the first is undone.
func TestGroupStepThatFails(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	dir := m.Group("/web", true, 10)
	tuner := m.Tuner(change.Options{})
	changetest.Apply(t, tuner, ofGroup(t, attr.Weight, "idle"))
	m.Settings.Fail("WriteSetting", dir+"/cpu.weight", syscall.EPERM)
	out := changetest.Apply(t, tuner, ofGroup(t, attr.Weight, "300"))
	assert.Equal(t, []string{"weight idle to 300: failed"}, changetest.Brief(out.Changes))
	assert.Equal(t, "1\n", m.Settings.All()[dir+"/cpu.idle"])
	assert.False(t, out.Changes[0].Taken)
}
