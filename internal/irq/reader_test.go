package irq

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
)

// host is a host tree in the making.
type host struct {
	t    *testing.T
	root string
}

func newHost(t *testing.T) host { return host{t, t.TempDir()} }

func (h host) file(path, content string) {
	h.t.Helper()
	full := filepath.Join(h.root, path) // kernelfake imports this package
	require.NoError(h.t, os.MkdirAll(filepath.Dir(full), 0o755))
	require.NoError(h.t, os.WriteFile(full, []byte(content), 0o644))
}

func (h host) link(path, to string) {
	h.t.Helper()
	full := filepath.Join(h.root, path)
	require.NoError(h.t, os.MkdirAll(filepath.Dir(full), 0o755))
	require.NoError(h.t, os.Symlink(to, full))
}

func (h host) dir(path string) {
	require.NoError(h.t, os.MkdirAll(filepath.Join(h.root, path), 0o755))
}

// line makes the files of an interrupt line.
func (h host) line(n, mode, requested, effective, actions, chip string) {
	h.file("proc/irq/"+n+"/smp_affinity_list", requested+"\n")
	h.file("proc/irq/"+n+"/effective_affinity_list", effective+"\n")
	h.file("proc/irq/"+n+"/affinity_hint", "03\n")
	h.file("proc/irq/"+n+"/node", "1\n")
	h.file("proc/irq/"+n+"/spurious", "count 4\nunhandled 1\nlast_unhandled 0 ms\n")
	h.file("sys/kernel/irq/"+n+"/actions", actions+"\n")
	h.file("sys/kernel/irq/"+n+"/chip_name", chip+"\n")
	h.file("sys/kernel/irq/"+n+"/type", "edge\n")
	if mode == "0444" {
		require.NoError(h.t, os.Chmod(filepath.Join(h.root, "proc/irq", n, "smp_affinity_list"), 0o444))
	}
}

const table = "  CPU0 CPU1\n" +
	" 0: 9 0 IO-APIC 2-edge timer\n" +
	"24: 1 2 PCI-MSIX-0000:09:00.0 1-edge virtio2-input.0\n" +
	"30: 5 6 PCI-MSIX-0000:19:00.0 1-edge nvme0q1\n" +
	"40: 5 6 IO-APIC 7-edge virtio7\n" +
	"LOC: 100 200 Local timer interrupts\n"

// server has a virtio NIC, an NVMe disk, a virtio device on no PCI bus and a
// threaded handler, as the many-CPU machine has them.
func server(t *testing.T, release string) host {
	h := newHost(t)
	h.file("proc/interrupts", table)
	h.file("proc/softirqs", "  CPU0 CPU1 CPU2\n NET_RX: 3 4 5\n")
	h.file("proc/sys/kernel/osrelease", release+"\n")
	h.file("proc/irq/default_smp_affinity", "3\n")
	h.line("0", "0444", "0-1", "0", "timer", "IO-APIC")
	h.line("24", "0644", "0-1", "1", "virtio2-input.0", "PCI-MSIX-0000:09:00.0")
	h.line("30", "0444", "0", "0", "nvme0q1", "PCI-MSIX-0000:19:00.0")
	h.line("40", "0644", "0-1", "", "virtio7", "IO-APIC")

	nic := "sys/devices/pci0000:08/0000:09:00.0"
	h.file(nic+"/msi_irqs/24", "msix\n")
	h.file(nic+"/irq", "11\n")
	h.file(nic+"/numa_node", "1\n")
	h.link(nic+"/driver", "../../../bus/pci/drivers/virtio-pci")
	h.link(nic+"/virtio2/driver", "../../../../bus/virtio/drivers/virtio_net")
	h.link(nic+"/virtio2/net/eth1/device", "../..")
	h.file(nic+"/virtio2/net/eth1/queues/rx-0/rps_cpus", "2\n")
	h.file(nic+"/virtio2/net/eth1/queues/rx-0/rps_flow_cnt", "4096\n")
	h.file(nic+"/virtio2/net/eth1/queues/tx-0/byte_queue_limits/limit", "0\n")
	h.link("sys/class/net/eth1", "../../devices/pci0000:08/0000:09:00.0/virtio2/net/eth1")
	h.dir("sys/class/net/lo")
	h.link("sys/bus/pci/devices/0000:09:00.0", "../../../devices/pci0000:08/0000:09:00.0")
	disk := "sys/bus/pci/devices/0000:19:00.0"
	h.file(disk+"/msi_irqs/30", "msix\n")
	h.dir(disk + "/nvme/nvme0")
	h.link(disk+"/driver", "../../../../bus/pci/drivers/nvme")
	h.link("sys/bus/virtio/devices/virtio7/driver", "../drivers/virtio_blk")
	h.dir("sys/bus/virtio/devices/virtio7/block/vda")
	h.file("proc/77/stat", "77 (irq/24-virtio2) S 2 0 0 0 -1 2097216 0 0 0 0 0 0 0 0 -51 0 1 0 5 0 0 1 0 0 0 0 0 0 0 0 0 0 0 0 17 0 50 1 0 0 0\n")
	h.file("proc/77/comm", "irq/24-virtio2\n")
	h.file("proc/78/stat", "78 (irq/30-fake) S 1 0 0 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0 1 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0\n")
	return h
}

func TestReader(t *testing.T) {
	h := server(t, "6.12.57")
	s, err := New(h.root).NewReader().Read()
	require.NoError(t, err)
	require.Len(t, s.IRQs, 4)
	assert.Equal(t, []cpuset.CPU{0, 1}, s.CPUs)
	assert.Equal(t, Mask{cpuset.Of(0, 1), true}, s.Default)

	timer, nic, disk, blk := s.IRQs[0], s.IRQs[1], s.IRQs[2], s.IRQs[3]
	assert.Equal(t, Fixed, timer.Control)
	assert.Equal(t, Device{}, timer.Device)

	assert.Equal(t, Device{"0000:09:00.0", "virtio_net", []string{"eth1"}}, nic.Device)
	assert.Equal(t, Queue{QueueRx, 0}, nic.Queue)
	assert.Equal(t, Settable, nic.Control)
	assert.Equal(t, []Thread{{TID: 77, Comm: "irq/24-virtio2"}}, nic.Threads, "78 only calls itself so")
	assert.Equal(t, "0-1", nic.Requested.String())
	assert.Equal(t, "1", nic.Effective.String())
	assert.Equal(t, "0-1", nic.Hint.String())
	assert.Equal(t, 1, nic.Node)
	assert.Equal(t, Spurious{4, 1, true}, nic.Spurious)

	assert.Equal(t, Managed, disk.Control)
	assert.Equal(t, Device{"0000:19:00.0", "nvme", []string{"nvme0"}}, disk.Device)
	assert.Equal(t, "vda", blk.Device.Name())
	assert.True(t, blk.Effective.OK)
	assert.True(t, blk.Effective.Empty(), "started nowhere yet")

	assert.Equal(t, []Named{{Name: "NET_RX", Counts: []uint64{3, 4}}}, s.SoftIRQs, "columns of the online CPUs")
	assert.Equal(t, "Local timer interrupts", s.Named[0].Text)
}

func TestReaderLearnsAnew(t *testing.T) {
	h := server(t, "6.12.57")
	r := New(h.root).NewReader()
	_, err := r.Read()
	require.NoError(t, err)
	h.file("proc/irq/24/smp_affinity_list", "0\n")
	h.file("proc/77/comm", "sshd\n")
	h.file("proc/77/stat", "77 (sshd) S 1 0 0 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 9 0 0 1 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0\n")
	s, err := r.Read()
	require.NoError(t, err)
	assert.Equal(t, "0", s.IRQs[1].Requested.String())
	assert.Empty(t, s.IRQs[1].Threads, "the thread has ended")

	h.file("proc/interrupts", "  CPU0 CPU1\n24: 1 2 PCI-MSIX-0000:09:00.0 1-edge other\n")
	h.file("sys/kernel/irq/24/actions", "other\n")
	s, err = r.Read()
	require.NoError(t, err)
	require.Len(t, s.IRQs, 1)
	assert.Equal(t, []string{"other"}, s.IRQs[0].Actions)
}

func TestMissingFilesHaveNoValue(t *testing.T) {
	h := newHost(t)
	h.file("proc/interrupts", table)
	s, err := New(h.root).NewReader().Read()
	require.NoError(t, err)
	nic := s.IRQs[1]
	assert.Equal(t, []string{"virtio2-input.0"}, nic.Actions, "from /proc/interrupts")
	assert.Equal(t, ControlUnknown, nic.Control)
	assert.False(t, nic.Requested.OK || nic.Effective.OK || nic.Hint.OK || nic.Spurious.OK || s.Default.OK)
	assert.Equal(t, -1, nic.Node)
	assert.Empty(t, s.SoftIRQs)

	_, err = New(t.TempDir()).NewReader().Read()
	assert.ErrorContains(t, err, "proc/interrupts")
}

func TestMovable(t *testing.T) {
	for _, tt := range []struct {
		release        string
		timer          bool // the PC's timer shows that modes tell
		irq            int
		movable, known bool
	}{
		{"6.12.57", true, 24, true, true},
		{"6.12.57", true, 30, false, true},
		{"6.12.57", true, 99, false, false},
		{"5.14.0-570.el9", true, 24, true, true},
		{"6.1.0-41", false, 24, false, false},
		{"6.1.0-41", false, 0, false, false},
		{"6.1.0-41", false, 31, false, true}, // a disk's queue all the same
	} {
		h := server(t, tt.release)
		h.line("31", "0644", "0-1", "0", "nvme0q2", "PCI-MSI")
		if !tt.timer {
			require.NoError(t, os.Chmod(filepath.Join(h.root, "proc/irq/0/smp_affinity_list"), 0o644))
		}
		movable, known := New(h.root).Movable(tt.irq)
		assert.Equal(t, [2]bool{tt.movable, tt.known}, [2]bool{movable, known}, "%+v", tt)
	}
}

func TestNICs(t *testing.T) {
	h := server(t, "6.12.57")
	fs := New(h.root)
	assert.Equal(t, -1, fs.FlowEntries())
	h.file("proc/sys/net/core/rps_sock_flow_entries", "32768\n")
	assert.Equal(t, 32768, fs.FlowEntries())
	nics := fs.NICs()
	require.Len(t, nics, 1, "lo has no device")
	assert.Equal(t, NIC{"eth1", Device{"0000:09:00.0", "virtio_net", []string{"eth1"}}, 1,
		[]RxQueue{{0, Mask{cpuset.Of(1), true}, 4096}}, []TxQueue{{0, Mask{}}}}, nics[0])

	m := NewMonitor(h.root)
	tab, err := m.Table()
	require.NoError(t, err)
	require.NotNil(t, tab.QueueIRQ("eth1", true, 0))
	assert.Equal(t, 24, tab.QueueIRQ("eth1", true, 0).Number)
	assert.Nil(t, tab.QueueIRQ("eth1", false, 0))
}

func TestNames(t *testing.T) {
	h := server(t, "6.12.57")
	fs := New(h.root)
	assert.Equal(t, "virtio2-input.0", fs.Name(24))
	assert.Empty(t, fs.Name(99))
	what, fewer, ok := Meaning("res")
	assert.True(t, ok)
	assert.Contains(t, what, "woke a task")
	assert.NotEmpty(t, fewer)
	_, _, ok = Meaning("NET_RX")
	assert.True(t, ok)
	_, _, ok = Meaning("nosuch")
	assert.False(t, ok)
}

// TestThisMachine compares with what the kernel says.
func TestThisMachine(t *testing.T) {
	m := NewMonitor("/")
	tab, err := m.Table()
	require.NoError(t, err)
	require.NotEmpty(t, tab.CPUs)
	if len(tab.Rows) == 0 {
		t.Skip("no interrupt line has a number here")
	}
	for _, r := range tab.Rows {
		movable, known := New("/").Movable(r.Number)
		assert.Equal(t, r.Control == Settable, movable, "irq %d", r.Number)
		assert.Equal(t, r.Control != ControlUnknown, known, "irq %d", r.Number)
	}
	next, err := m.Table()
	require.NoError(t, err)
	assert.Positive(t, next.Elapsed)
}

func TestMatch(t *testing.T) {
	tab, err := NewMonitor(server(t, "6.12.57").root).Table()
	require.NoError(t, err)
	for _, tt := range []struct {
		filter string
		want   []int
	}{{"", []int{0, 24, 30, 40}}, {"ETH1", []int{24}}, {"nvme managed", []int{30}}, {"virtio settable", []int{24, 40}}, {"irq/24", []int{24}}, {"nosuch", nil}} {
		var got []int
		for i := range tab.Rows {
			if tab.Rows[i].Match(tt.filter) {
				got = append(got, tab.Rows[i].Number)
			}
		}
		assert.Equal(t, tt.want, got, tt.filter)
	}
	assert.True(t, tab.Named[0].Match("timer"))
	assert.False(t, tab.Named[0].Match("eth"))
}

func TestFilesThatEndWithNUL(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte("3\n\x00"), 0o644))
	assert.Equal(t, Mask{cpuset.Of(0, 1), true}, ReadMask(path))
	assert.Equal(t, Mask{cpuset.Of(3), true}, readList(path))
	assert.Equal(t, 3, readNumber(path, -1))
}

// Container runtimes put /dev/null or an empty directory over the file.
func TestMaskedInterrupts(t *testing.T) {
	empty, covered := newHost(t), newHost(t)
	empty.file("proc/interrupts", "")
	covered.dir("proc/interrupts")
	for _, h := range []host{empty, covered} {
		_, err := New(h.root).NewReader().Read()
		assert.ErrorIs(t, err, ErrMasked)
	}
	_, err := New(t.TempDir()).NewReader().Read()
	assert.NotErrorIs(t, err, ErrMasked)
}

func TestSoftIRQsThatAreNotUnderstoodAreUnknown(t *testing.T) {
	h := newHost(t)
	h.file("proc/interrupts", "CPU0 CPU1\n")
	h.file("proc/softirqs", "CPU0 CPU1\nHI: 1 2\nNET_RX: 3\nRCU: 4 -5\n")
	s, err := New(h.root).NewReader().Read()
	require.NoError(t, err)
	assert.Equal(t, []Named{{Name: "HI", Counts: []uint64{1, 2}}, {Name: "NET_RX"}, {Name: "RCU"}}, s.SoftIRQs)
	assert.Error(t, s.Odd)
}
