package attr_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/changetest"
	"piton/internal/kernel"
	"piton/internal/place"
)

const (
	oneGroup    = "between groups: a group competes as one, by its weight"
	eachTask    = "a group's weight counts once for each of its runnable tasks, up to its CPUs"
	assumedRule = " (the default of Linux 7.3, assumed: cgroup_mode in debugfs cannot be read)"
	cgroupMode  = "sys/kernel/debug/sched/cgroup_mode"
)

func TestGroupMode(t *testing.T) {
	for _, c := range []struct {
		release, file string
		want          place.GroupMode
		assumed       bool
	}{
		{"6.1.0-50-cloud-amd64", "", place.GroupsSMP, false},
		{"7.2.12", "", place.GroupsSMP, false},
		{"7.3.4", "", place.GroupsConcur, true},
		{"7.3.4", "up smp concur max tasks (other)\n", place.GroupsConcur, true},
		{"7.3.4", "up smp (concur) max tasks \n", place.GroupsConcur, false},
		{"7.3.4", "up (smp) concur max tasks\n", place.GroupsSMP, false},
		{"7.3.4", "up smp concur max (tasks)\n", place.GroupsTasks, false},
	} {
		m := changetest.New(t)
		m.Write("proc/sys/kernel/osrelease", c.release+"\n")
		if c.file != "" {
			m.Write(cgroupMode, c.file)
		}
		mode, assumed := m.Tuner(change.Options{}).GroupMode()
		assert.Equal(t, c.want, mode, c)
		assert.Equal(t, c.assumed, assumed, c)
	}
}

func TestNiceWithinAGroup(t *testing.T) {
	const session = "autogroup is on: nice acts within the session of 10 only; for the whole session: piton nice --autogroup 10 5"
	five := attr.SetNice(5)
	m := changetest.New(t)
	m.Spawn(10, 10)
	m.Spawn(10, 11)
	said := func() []string { return change.Texts(plan(t, m, five, 10).Warnings) }
	assert.Empty(t, said(), "the root group")
	m.Sysctls["kernel/sched_autogroup_enabled"] = 1
	assert.Equal(t, []string{session, oneGroup}, said(), "said once")
	assert.False(t, plan(t, m, five, 10).OneWay())

	// A cpu cgroup of its own, of either version, switches autogroup off.
	m.Write("proc/10/cgroup", "1:cpu:/web\n0::/\n")
	assert.Equal(t, []string{"nice acts within the cgroup /web only; against others the group's weight counts", oneGroup}, said())
	m.Write("proc/10/cgroup", "0::/box/web\n")
	assert.Equal(t, []string{session, oneGroup}, said(), "the cpu controller is off there")
	m.Write("sys/fs/cgroup/unified/box/cpu.weight", "100\n")
	box := "nice acts within the cgroup /box only; against others the group's weight counts"
	assert.Equal(t, []string{box, oneGroup}, said())

	m.Group("/box", true, 10)
	box += ": piton weight 10 VALUE"
	assert.Equal(t, []string{box, oneGroup}, said())

	m.Write("proc/sys/kernel/osrelease", "7.3.4\n")
	assert.Equal(t, []string{box, "between groups: " + eachTask + assumedRule}, said())
	m.Write(cgroupMode, "up smp (concur) max tasks \n")
	assert.Equal(t, []string{box, "between groups: " + eachTask}, said())
	assert.Equal(t, []string{"between sessions: " + eachTask}, warnings(t, m, change.Options{}, attr.Setting{Attribute: attr.Autogroup, Value: attr.NiceValue(5)}))
}

func TestCompetition(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	m.Write("proc/sys/kernel/osrelease", "7.2.12\n")
	says := func() string {
		where, rule := m.Tuner(change.Options{}).Competition(10)
		return strings.TrimPrefix(where+": "+rule, ": ")
	}
	assert.Empty(t, says())
	m.Sysctls["kernel/sched_autogroup_enabled"] = 1
	assert.Equal(t, "in the autogroup of its session: a group competes as one, by its weight", says())
	m.Write("proc/10/cgroup", "1:cpu:/web\n0::/\n")
	m.Write("proc/sys/kernel/osrelease", "7.3.4\n")
	assert.Equal(t, "in the cgroup /web: "+eachTask+assumedRule, says())
	m.Write("sys/kernel/sched_ext/state", "enabled\n")
	m.Write("sys/kernel/sched_ext/root/ops", "rusty\n")
	m.Write("proc/10/task/10/sched", "job (10, #threads: 1)\n----\next.enabled : 1\n")
	assert.Equal(t, "under the sched_ext scheduler rusty: it decides whether nice and weights count", says())
}

// Under a sched_ext scheduler the kernel goes on accepting what the scheduler need not heed.
func TestSchedExtDecides(t *testing.T) {
	for name, set := range map[string]attr.Setting{
		"nice": attr.SetNice(5), "the slice": attr.SetSlice(3 * time.Millisecond),
		"uclamp": {Attribute: attr.Clamp, Value: attr.ClampValue{Clamp: kernel.Clamp{Max: 512}}},
	} {
		t.Run(name, func(t *testing.T) {
			m := changetest.New(t)
			for _, tid := range []kernel.TID{10, 11} {
				m.Spawn(10, tid)
			}
			said := func() []string { return change.Texts(plan(t, m, set, 10, 11).Warnings) }
			m.Write("sys/kernel/sched_ext/state", "disabled\n")
			m.Write("proc/10/task/11/sched", "job (11, #threads: 2)\n----\next.enabled : 1\n")
			assert.Empty(t, said(), "none is in force")
			m.Write("sys/kernel/sched_ext/state", "enabled\n")
			m.Write("sys/kernel/sched_ext/root/ops", "rusty\n")
			assert.Equal(t, []string{"the sched_ext scheduler rusty is in force: it decides whether " + name + " counts"}, said())
			m.Write("proc/10/task/11/sched", "ext.enabled : 1\njob (11, #threads: 2)\n----\next.enabled : 0\n")
			assert.Empty(t, said(), "it is partial, and has neither thread")
		})
	}
}

func TestGroupWithoutRealTime(t *testing.T) {
	const file = "sys/fs/cgroup/cpu/%scpu.rt_runtime_us"
	m := changetest.New(t)
	m.Spawn(10, 10)
	m.Write("proc/10/cgroup", "1:cpu:/box/web\n")
	budget := func(group, us string) { m.Write(fmt.Sprintf(file, group), us+"\n") }
	command := func() string {
		_, command := m.Tuner(change.Options{}).WhyNoRealTime(10)
		return strings.ReplaceAll(command, m.Dir+"/", "")
	}
	budget("box/web/", "0")
	assert.Empty(t, command(), "what its parent has is not known")
	budget("box/", "0")
	budget("", "1000000")
	assert.Equal(t, "echo 1000000 | sudo tee "+fmt.Sprintf(file, "box/"), command(), "the parent first")
	budget("box/", "300000")
	assert.Equal(t, "echo 300000 | sudo tee "+fmt.Sprintf(file, "box/web/"), command(), "no more than the parent has")
	budget("box/web/", "1")
	assert.Empty(t, command())
}
