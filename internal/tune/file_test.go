package tune

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
)

// line makes an interrupt line of the fake machine and returns its file.
func (m *machine) line(number, handlers, cpus string) string {
	file := "/proc/irq/" + number + "/smp_affinity_list"
	m.files.Put(file, cpus+"\n")
	m.write(file, cpus+"\n")
	m.write("sys/kernel/irq/"+number+"/actions", handlers+"\n")
	m.write("proc/sys/kernel/osrelease", "6.12.1\n")
	return file
}

// readOnly makes it one that cannot be moved.
func (m *machine) readOnly(file string) {
	require.NoError(m.t, os.Chmod(filepath.Join(m.root, file), 0o444))
}

func moveIRQ(file, name, cpus string) []Request {
	return []Request{{Files: []FileSetting{{Attribute: IRQAffinity, Path: file, Name: name, Value: cpus}}}}
}

func TestFileRoundTrip(t *testing.T) {
	const queue = "/sys/class/net/eth0/queues/"
	tests := []struct {
		attribute                           Attribute
		path, was, value, before, after, is string
		handlers                            string
	}{
		{IRQAffinity, "/proc/irq/24/smp_affinity_list", "0-3\n", "2", "0-3", "2", "2\n", "virtio0-input.0"},
		{IRQAffinity, "/proc/irq/24/smp_affinity_list", "0-3\n", "3,1", "0-3", "1,3", "1,3\n", ""},
		{DefaultIRQAffinity, "/proc/irq/default_smp_affinity", "f\n", "0-1", "0-3", "0-1", "00000003\n", ""},
		{WorkqueueMask, "/sys/devices/virtual/workqueue/cpumask", "00000000,0000000f\n", "1", "0-3", "1", "00000002\n", ""},
		{WorkqueueMask, "/sys/devices/virtual/workqueue/writeback/cpumask", "f\n", "1", "0-3", "1", "00000002\n", ""},
		{RPSCPUs, queue + "rx-0/rps_cpus", "00000000\n", "0-3", "", "0-3", "0000000f\n", ""},
		{RPSCPUs, queue + "rx-0/rps_cpus", "3\n", "", "0-1", "", "00000000\n", ""},
		{XPSCPUs, queue + "tx-3/xps_cpus", "3\n", "2", "0-1", "2", "00000004\n", ""},
		{RPSFlows, queue + "rx-0/rps_flow_cnt", "0\n", " 4096 ", "0", "4096", "4096\n", ""},
		{RFSEntries, "/proc/sys/net/core/rps_sock_flow_entries", "0\n", "32768", "0", "32768", "32768\n", ""},
		{Sysctl, "/proc/sys/kernel/sched_rt_runtime_us", "950000\n", "-1", "950000", "-1", "-1\n", ""},
		{Sysctl, "/proc/sys/net/ipv4/tcp_rmem", "4096\t87380\t6291456\n", "4096  87380 1 ", "4096 87380 6291456", "4096 87380 1", "4096 87380 1\n", ""},
	}
	for _, tt := range tests {
		t.Run(string(tt.attribute)+" "+tt.value, func(t *testing.T) {
			m := newMachine(t)
			m.files.Put(tt.path, tt.was)
			j := openJournal(t)
			tuner := m.tuner(Options{Journal: j})
			result := apply(t, tuner, []Request{{Files: []FileSetting{{tt.attribute, tt.path, "it", tt.value}}}})
			assert.Equal(t, []string{string(tt.attribute) + " " + tt.before + " to " + tt.after + ": done"}, outcome(result.Changes))
			assert.Equal(t, map[string]string{tt.path: tt.is}, m.files.All())
			again := apply(t, tuner, []Request{{Files: []FileSetting{{tt.attribute, tt.path, "it", tt.value}}}})
			assert.Equal(t, 1, again.Count(Unchanged))
			assert.Len(t, m.files.Calls(), 1, "what is so already is not written")

			entry := entriesOf(t, j)[0]
			assert.Equal(t, tt.path, entry.Changes[0].Path)
			assert.Equal(t, "it", entry.Changes[0].Name)
			assert.Equal(t, Done, entry.Changes[0].Status)
			result = undo(t, tuner, UndoRequest{Last: 1})
			assert.Equal(t, 1, result.Count(Done), "%+v", result.Changes)
			f := fileAttributes[tt.attribute]
			now, err := f.decode(m.files.All()[tt.path])
			require.NoError(t, err)
			assert.Equal(t, tt.before, now)
		})
	}
}

func TestFileJournalledBeforeWritten(t *testing.T) {
	m := newMachine(t)
	file := m.line("24", "eth0", "0-3")
	j := openJournal(t)
	var before []Entry
	m.files.Before("WriteSetting", file, func() { before = entriesOf(t, j) })
	apply(t, m.tuner(Options{Journal: j}), moveIRQ(file, "irq 24 (eth0)", "1"))
	require.Len(t, before, 1)
	assert.Equal(t, Change{Comm: "eth0", Path: file, Name: "irq 24 (eth0)", Attribute: IRQAffinity, Before: "0-3", After: "1", Status: Planned},
		before[0].Changes[0])
}

func TestFileWithTasksInOnePlan(t *testing.T) {
	m := newMachine(t)
	m.spawn(10, 10)
	file := m.line("24", "eth0", "0-3")
	requests := pin(ScopeProcess, cpuset.Of(1), 10)
	requests[0].Files = moveIRQ(file, "irq 24", "1")[0].Files
	j := openJournal(t)
	tuner := m.tuner(Options{Journal: j})
	plan, err := tuner.Plan(context.Background(), requests)
	require.NoError(t, err)
	assert.Equal(t, []int{1, 1, 1}, []int{plan.Processes(), plan.Threads(), plan.Files()})
	result, err := tuner.Apply(context.Background(), plan)
	require.NoError(t, err)
	assert.Equal(t, 2, result.Count(Done))
	result = undo(t, tuner, UndoRequest{All: true})
	assert.Equal(t, []string{"affinity 1 to 0-3: done", "irq-affinity 1 to 0-3: done"}, outcome(result.Changes))
	assert.True(t, entriesOf(t, j)[0].Undone)
}

func TestManagedLineIsRefusedBeforeTrying(t *testing.T) {
	m := newMachine(t)
	file := m.line("24", "nvme0q1", "0-3")
	m.write("sys/kernel/irq/24/chip_name", "PCI-MSIX-0000:00:05.0\n")
	m.readOnly(file)
	result := apply(t, m.tuner(Options{}), moveIRQ(file, "irq 24", "1"))
	assert.Equal(t, Refused, result.Changes[0].Status)
	assert.ErrorIs(t, result.Changes[0].Err, ErrNotSupported)
	assert.Contains(t, result.Changes[0].Reason, "its driver manages it")
	assert.Empty(t, m.files.Calls())
}

func TestPathsAreOfTheirAttribute(t *testing.T) {
	tests := []struct {
		attribute Attribute
		path      string
	}{
		{IRQAffinity, "/etc/passwd"},
		{IRQAffinity, "/proc/irq/24/../../sys/kernel/x"},
		{IRQAffinity, "/proc/irq/24/smp_affinity"},
		{IRQAffinity, "proc/irq/24/smp_affinity_list"},
		{IRQAffinity, "/proc/irq/24/smp_affinity_list\n"},
		{RPSCPUs, "/sys/class/net/../net/queues/rx-0/rps_cpus"},
		{RPSCPUs, "/sys/class/net/eth0/queues/rx-0/rps_flow_cnt"},
		{Sysctl, "/proc/sys/../sysrq-trigger"},
		{Sysctl, "/proc/sys/kernel//panic"},
		{Sysctl, "/proc/sys/kernel/core_pattern"},
		{Sysctl, "/proc/sys/fs/binfmt_misc/register"},
		{Sysctl, "/proc/sysrq-trigger"},
		{AutogroupNice, "/proc/self/autogroup"},
		{Affinity, "/proc/irq/24/smp_affinity_list"},
		{"novel", "/proc/irq/24/smp_affinity_list"},
	}
	for _, tt := range tests {
		m := newMachine(t)
		m.files.Put(tt.path, "0\n")
		_, err := m.tuner(Options{}).Plan(context.Background(), []Request{{Files: []FileSetting{{tt.attribute, tt.path, "", "1"}}}})
		var usage UsageError
		assert.ErrorAs(t, err, &usage, tt.path)

		// And a journal that names such a file makes piton write nothing.
		j := openJournal(t)
		_, err = j.append(record{Kind: kindBegin, Boot: j.boot, Changes: []jchange{{Path: tt.path, Attribute: tt.attribute, Before: "1", After: "0"}}}, false)
		require.NoError(t, err)
		result := undo(t, m.tuner(Options{Journal: j}), UndoRequest{All: true, Force: true})
		assert.Zero(t, result.Count(Done), tt.path)
		assert.Empty(t, m.files.Calls())
	}
}

func TestFileRefusals(t *testing.T) {
	root := func() int { return 0 }
	const rps, xps = "/sys/class/net/eth0/queues/rx-0/rps_cpus", "/sys/class/net/eth0/queues/tx-0/xps_cpus"
	tests := []struct {
		name      string
		attribute Attribute
		path      string
		value     string
		method    string
		errno     syscall.Errno
		euid      func() int
		status    Status
		is        error
		reason    string
	}{
		{"offline", IRQAffinity, "/proc/irq/24/smp_affinity_list", "9", "", 0, root, Refused, nil, "CPU 9 is not online here (online: 0-3)"},
		{"gone offline", IRQAffinity, "/proc/irq/24/smp_affinity_list", "2", "WriteSetting", syscall.EINVAL, root, Failed, nil, "the kernel does not accept CPU 2"},
		{"beyond the machine", IRQAffinity, "/proc/irq/24/smp_affinity_list", "2,700", "WriteSetting", syscall.ERANGE, root, Failed, nil, "CPU 700 is not online here (online: 0-3)"},
		{"managed, told late", IRQAffinity, "/proc/irq/24/smp_affinity_list", "2", "WriteSetting", syscall.EIO, root, Failed, ErrNotSupported, "its driver manages it"},
		{"managed, told late by 6.12", IRQAffinity, "/proc/irq/24/smp_affinity_list", "2", "WriteSetting", syscall.EPERM, root, Failed, ErrNotSupported, "its driver manages it"},
		{"no vector", IRQAffinity, "/proc/irq/24/smp_affinity_list", "2", "WriteSetting", syscall.ENOSPC, root, Failed, nil, "CPU 2 has no interrupt vector left"},
		{"not root", IRQAffinity, "/proc/irq/24/smp_affinity_list", "2", "WriteSetting", syscall.EACCES, nil, Failed, ErrNotPermitted, "is root's to write: run piton with sudo"},
		{"root of a container", RPSCPUs, rps, "2", "WriteSetting", syscall.EPERM, root, Failed, ErrNotPermitted, "this root lacks CAP_DAC_OVERRIDE and CAP_NET_ADMIN"},
		{"read-only /proc", IRQAffinity, "/proc/irq/24/smp_affinity_list", "2", "WriteSetting", syscall.EROFS, root, Failed, ErrNotSupported, "mounted read-only"},
		{"isolated", RPSCPUs, rps, "2", "WriteSetting", syscall.EINVAL, root, Failed, nil, "does not process packets on CPU 2: isolated at boot"},
		{"one queue", XPSCPUs, xps, "2", "ReadSetting", syscall.ENOENT, root, Refused, ErrNotSupported, "single sending queue"},
		{"no such line", IRQAffinity, "/proc/irq/99/smp_affinity_list", "2", "", 0, root, Refused, ErrGone, "it is not there"},
		{"no such sysctl", Sysctl, "/proc/sys/kernel/novel", "2", "", 0, root, Refused, ErrNotSupported, "this kernel has no it"},
		{"sysctl that tells only", Sysctl, "/proc/sys/kernel/panic", "2", "WriteSetting", syscall.EACCES, root, Failed, ErrNotPermitted, "is for reading only: the kernel lets nobody write it"},
		{"bad sysctl", Sysctl, "/proc/sys/kernel/panic", "x", "WriteSetting", syscall.EINVAL, root, Failed, nil, `the kernel does not accept "x" there`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t)
			m.line("24", "eth0", "0-3")
			for _, file := range []string{rps, xps, "/proc/sys/kernel/panic"} {
				m.files.Put(file, "0\n")
			}
			if tt.method != "" {
				m.files.Fail(tt.method, tt.path, tt.errno)
			}
			o := Options{EUID: tt.euid}
			if tt.euid == nil {
				o.Rights = noRights
			}
			result := apply(t, m.tuner(o), []Request{{Files: []FileSetting{{tt.attribute, tt.path, "it", tt.value}}}})
			c := result.Changes[0]
			assert.Equal(t, tt.status, c.Status)
			assert.Contains(t, c.Reason, tt.reason)
			if tt.is != nil {
				assert.ErrorIs(t, c.Err, tt.is)
			}
		})
	}
}

// FuzzFileOf: whatever a journal says, nothing is written outside these folders.
func FuzzFileOf(f *testing.F) {
	f.Add("sysctl", "/proc/sys/net/../../etc/passwd")
	f.Add("sysctl", "/proc/sys/0\x00")
	f.Add("irq-affinity", "/proc/irq/24/smp_affinity_list")
	f.Add("rps-cpus", "/sys/class/net/eth0/queues/rx-0/rps_cpus")
	f.Fuzz(func(t *testing.T, attribute, file string) {
		if _, err := fileOf(Attribute(attribute), file); err != nil {
			return
		}
		within := false
		for _, folder := range []string{"/proc/irq/", "/proc/sys/", "/sys/class/net/", "/sys/devices/virtual/workqueue/"} {
			within = within || strings.HasPrefix(file, folder)
		}
		within = within || attribute == "autogroup" && processOf(file) > 0
		if !within || filepath.Clean(file) != file || strings.ContainsAny(file, " \n\x00") {
			t.Fatalf("%q is a file of %q", file, attribute)
		}
	})
}

func FuzzFileValue(f *testing.F) {
	f.Add("0-3,8")
	f.Add("4096\t87380  1")
	f.Add("-5")
	f.Fuzz(func(t *testing.T, value string) {
		for name, a := range fileAttributes {
			once, err := a.canonical(value)
			if err != nil {
				var usage UsageError
				require.ErrorAs(t, err, &usage)
				continue
			}
			again, err := a.canonical(once)
			require.NoError(t, err, "%s: %q", name, once)
			require.Equal(t, once, again, "%s: %q", name, value)
		}
	})
}
