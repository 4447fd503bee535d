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
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

const (
	queue     = "/sys/class/net/eth0/queues/"
	rps       = queue + "rx-0/rps_cpus"
	flows     = queue + "rx-0/rps_flow_cnt"
	xps       = queue + "tx-0/xps_cpus"
	line      = "/proc/irq/24/smp_affinity_list"
	panicFile = "/proc/sys/kernel/panic"
)

// file asks for a value of a file in people's words.
func file(t *testing.T, a attr.Attribute, path, value string) []change.Request {
	t.Helper()
	v, err := a.Parse(value)
	require.NoError(t, err)
	return changetest.File(a, path, "it", v)
}

func TestFileRoundTrip(t *testing.T) {
	tests := []struct {
		attribute                           attr.Attribute
		path, was, value, before, after, is string
	}{
		{attr.IRQAffinity, line, "0-3\n", "2", "0-3", "2", "2\n"},
		{attr.IRQAffinity, line, "0-3\n", "3,1", "0-3", "1,3", "1,3\n"},
		{attr.DefaultIRQAffinity, "/proc/irq/default_smp_affinity", "f\n", "0-1", "0-3", "0-1", "00000003\n"},
		{attr.WorkqueueMask, "/sys/devices/virtual/workqueue/cpumask", "00000000,0000000f\n", "1", "0-3", "1", "00000002\n"},
		{attr.WorkqueueMask, "/sys/devices/virtual/workqueue/writeback/cpumask", "f\n", "1", "0-3", "1", "00000002\n"},
		{attr.RPSCPUs, rps, "00000000\n", "0-3", "", "0-3", "0000000f\n"},
		{attr.RPSCPUs, rps, "3\n", "", "0-1", "", "00000000\n"},
		{attr.XPSCPUs, queue + "tx-3/xps_cpus", "3\n", "2", "0-1", "2", "00000004\n"},
		{attr.RPSFlows, flows, "0\n", " 4096 ", "0", "4096", "4096\n"},
		{attr.RFSEntries, "/proc/sys/net/core/rps_sock_flow_entries", "0\n", "32768", "0", "32768", "32768\n"},
		{attr.Sysctl, "/proc/sys/kernel/sched_rt_runtime_us", "950000\n", "-1", "950000", "-1", "-1\n"},
		{attr.Sysctl, "/proc/sys/net/ipv4/tcp_rmem", "4096\t87380\t6291456\n", "4096  87380 1 ", "4096 87380 6291456", "4096 87380 1", "4096 87380 1\n"},
	}
	for _, tt := range tests {
		t.Run(string(tt.attribute)+" "+tt.value, func(t *testing.T) {
			m := changetest.New(t)
			m.Settings.Put(tt.path, tt.was)
			j := changetest.Journal(t)
			tuner := m.Tuner(change.Options{Journal: j})
			outcome := changetest.Apply(t, tuner, file(t, tt.attribute, tt.path, tt.value))
			assert.Equal(t, []string{string(tt.attribute) + " " + tt.before + " to " + tt.after + ": done"}, changetest.Brief(outcome.Changes))
			assert.Equal(t, map[string]string{tt.path: tt.is}, m.Settings.All())
			again := changetest.Apply(t, tuner, file(t, tt.attribute, tt.path, tt.value))
			assert.Equal(t, 1, again.Count(attr.Unchanged))
			assert.Len(t, m.Settings.Calls(), 1, "what is so already is not written")

			c := changetest.Entries(t, j)[0].Changes[0]
			assert.Equal(t, []any{tt.path, "it", attr.Done}, []any{c.Path, c.Name, c.Status})
			outcome = changetest.Undo(t, tuner, change.UndoRequest{Last: 1})
			assert.Equal(t, 1, outcome.Count(attr.Done), "%+v", outcome.Changes)
			now, err := tuner.Read(tt.attribute, attr.Object{Path: tt.path})
			require.NoError(t, err)
			assert.Equal(t, tt.before, now.String())
		})
	}
}

func TestManagedLineIsRefusedBeforeTrying(t *testing.T) {
	m := changetest.New(t)
	m.Line("24", "nvme0q1", "0-3")
	m.Write("sys/kernel/irq/24/chip_name", "PCI-MSIX-0000:00:05.0\n")
	require.NoError(t, os.Chmod(filepath.Join(m.Dir, line), 0o444))
	c := changetest.Apply(t, m.Tuner(change.Options{}), file(t, attr.IRQAffinity, line, "1")).Changes[0]
	assert.Equal(t, attr.Refused, c.Status)
	assert.ErrorIs(t, c.Err, attr.ErrNotSupported)
	assert.Contains(t, c.Reason, "its driver manages it")
	assert.Empty(t, m.Settings.Calls())
}

func TestPathsAreOfTheirAttribute(t *testing.T) {
	tests := []struct {
		attribute attr.Attribute
		path      string
	}{
		{attr.IRQAffinity, "/etc/passwd"},
		{attr.IRQAffinity, "/proc/irq/24/../../sys/kernel/x"},
		{attr.IRQAffinity, "/proc/irq/24/smp_affinity"},
		{attr.IRQAffinity, "proc/irq/24/smp_affinity_list"},
		{attr.IRQAffinity, "/proc/irq/24/smp_affinity_list\n"},
		{attr.RPSCPUs, "/sys/class/net/../net/queues/rx-0/rps_cpus"},
		{attr.RPSCPUs, flows},
		{attr.Sysctl, "/proc/sys/../sysrq-trigger"},
		{attr.Sysctl, "/proc/sys/kernel//panic"},
		{attr.Sysctl, "/proc/sys/kernel/core_pattern"},
		{attr.Sysctl, "/proc/sys/fs/binfmt_misc/register"},
		{attr.Sysctl, "/proc/sysrq-trigger"},
		{attr.Autogroup, "/proc/self/autogroup"},
		{attr.Affinity, line},
		{"novel", line},
	}
	for _, tt := range tests {
		m := changetest.New(t)
		m.Settings.Put(tt.path, "0\n")
		one, zero := attr.Value(cpuset.Of(1)), attr.Value(cpuset.Of(0))
		if tt.attribute == "novel" {
			one, zero = attr.Opaque("1"), attr.Opaque("0")
		}
		_, err := m.Tuner(change.Options{}).Plan(t.Context(), changetest.File(tt.attribute, tt.path, "", one))
		var usage attr.UsageError
		assert.ErrorAs(t, err, &usage, tt.path)

		// And a journal that names such a file makes piton write nothing.
		j := changetest.Journal(t)
		r := journal.Record{Kind: journal.Begin}
		r.Changes = []attr.Change{{Object: attr.Object{Path: tt.path}, Attribute: tt.attribute, Before: one, After: zero}}
		_, err = j.Append(&r)
		require.NoError(t, err)
		outcome := changetest.Undo(t, m.Tuner(change.Options{Journal: j}), change.UndoRequest{All: true, Force: true})
		assert.Zero(t, outcome.Count(attr.Done), tt.path)
		assert.Empty(t, m.Settings.Calls())
		assert.Empty(t, m.Calls())
	}
}

func TestFileRefusals(t *testing.T) {
	root := func() int { return 0 }
	tests := []struct {
		name      string
		attribute attr.Attribute
		path      string
		value     string
		method    string
		errno     syscall.Errno
		euid      func() int
		status    attr.Status
		is        error
		reason    string
	}{
		{"offline", attr.IRQAffinity, line, "9", "", 0, root, attr.Refused, nil, "CPU 9 is not online here (online: 0-3)"},
		{"gone offline", attr.IRQAffinity, line, "2", "WriteSetting", syscall.EINVAL, root, attr.Failed, nil, "the kernel does not accept CPU 2"},
		{"beyond the machine", attr.IRQAffinity, line, "2,700", "WriteSetting", syscall.ERANGE, root, attr.Failed, nil, "CPU 700 is not online here (online: 0-3)"},
		{"managed, told late", attr.IRQAffinity, line, "2", "WriteSetting", syscall.EIO, root, attr.Failed, attr.ErrNotSupported, "its driver manages it"},
		{"managed, told late by 6.12", attr.IRQAffinity, line, "2", "WriteSetting", syscall.EPERM, root, attr.Failed, attr.ErrNotSupported, "its driver manages it"},
		{"no vector", attr.IRQAffinity, line, "2", "WriteSetting", syscall.ENOSPC, root, attr.Failed, nil, "those CPUs have no interrupt vector left"},
		{"not root", attr.IRQAffinity, line, "2", "WriteSetting", syscall.EACCES, nil, attr.Failed, attr.ErrNotPermitted, "is root's to write: run piton with sudo"},
		{"root of a container", attr.RPSCPUs, rps, "2", "WriteSetting", syscall.EPERM, root, attr.Failed, attr.ErrNotPermitted, "this root lacks CAP_DAC_OVERRIDE and CAP_NET_ADMIN"},
		{"read-only /proc", attr.IRQAffinity, line, "2", "WriteSetting", syscall.EROFS, root, attr.Failed, attr.ErrNotSupported, "mounted read-only"},
		{"isolated", attr.RPSCPUs, rps, "2", "WriteSetting", syscall.EINVAL, root, attr.Failed, nil, "does not process packets on CPU 2: isolated at boot"},
		{"one queue", attr.XPSCPUs, xps, "2", "ReadSetting", syscall.ENOENT, root, attr.Refused, attr.ErrNotSupported, "single sending queue"},
		{"no such line", attr.IRQAffinity, "/proc/irq/99/smp_affinity_list", "2", "", 0, root, attr.Refused, attr.ErrGone, "it is not there"},
		{"no such sysctl", attr.Sysctl, "/proc/sys/kernel/novel", "2", "", 0, root, attr.Refused, attr.ErrNotSupported, "this kernel has no /proc/sys/kernel/novel"},
		{"read-only sysctl", attr.Sysctl, panicFile, "2", "WriteSetting", syscall.EACCES, root, attr.Failed, attr.ErrNotSupported, panicFile + " is read-only"},
		{"write-only sysctl", attr.Sysctl, panicFile, "2", "ReadSetting", syscall.EACCES, root, attr.Refused, attr.ErrNotSupported,
			panicFile + " is write-only: its old value cannot be read, so the change could not be undone"},
		{"bad sysctl", attr.Sysctl, panicFile, "x", "WriteSetting", syscall.EINVAL, root, attr.Failed, nil, `the kernel does not accept "x" there`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := changetest.New(t)
			m.Line("24", "eth0", "0-3")
			for _, path := range []string{rps, xps, panicFile} {
				m.Settings.Put(path, "0\n")
			}
			if tt.method != "" {
				m.Settings.Fail(tt.method, tt.path, tt.errno)
			}
			o := change.Options{Sources: attr.Sources{EUID: tt.euid}}
			if tt.euid == nil {
				o.Rights = func() (kernel.Capabilities, error) { return 0, nil }
			}
			c := changetest.Apply(t, m.Tuner(o), file(t, tt.attribute, tt.path, tt.value)).Changes[0]
			assert.Equal(t, tt.status, c.Status)
			assert.Contains(t, c.Reason, tt.reason)
			if tt.is != nil {
				assert.ErrorIs(t, c.Err, tt.is)
			}
		})
	}
}

func TestFileIsCutAndRounded(t *testing.T) {
	m := changetest.New(t)
	m.Settings.Put(flows, "0\n")
	m.Settings.Put(rps, "0\n")
	m.Settings.Store = func(path, _ string) (string, error) {
		return map[string]string{flows: "1024\n", rps: "00000003\n"}[path], nil
	}
	set := func(a attr.Attribute, path, value string) attr.Change {
		return changetest.Apply(t, m.Tuner(change.Options{}), file(t, a, path, value)).Changes[0]
	}
	told := func(c attr.Change) []any { return []any{c.Status, c.After.String(), c.Reason} }
	assert.Equal(t, []any{attr.Done, "1024", "the kernel rounded 1000 up to a power of two"}, told(set(attr.RPSFlows, flows, "1000")))
	c := set(attr.RPSFlows, flows, "5000")
	assert.Equal(t, attr.Failed, c.Status, "that is no rounding")
	assert.Contains(t, c.Reason, "it did not stick")
	assert.Equal(t, []any{attr.Done, "0-1", "CPUs 0-1 are in force: the kernel left out 2-3"}, told(set(attr.RPSCPUs, rps, "0-3")))
	c = set(attr.RPSCPUs, rps, "2")
	assert.Equal(t, attr.Failed, c.Status)
	assert.Contains(t, c.Reason, "it did not stick: 2 was set and 0-1 is in force")
}

// The mask of a line or a file keeps CPUs that went offline, and they come back there.
func TestPlanWarnsOfCPUsThatAFileHadNot(t *testing.T) {
	m := changetest.New(t)
	for before, want := range map[string][]string{"0-3": {"it: CPU 9 is not online here (online: 0-3)"}, "0-3,9": {}} {
		m.Line("24", "eth0", before)
		plan := changetest.Plan(t, m.Tuner(change.Options{}), file(t, attr.IRQAffinity, line, "1,9"))
		assert.Equal(t, want, change.Texts(plan.Warnings), before)
	}
}
