package irq

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ways is a machine with interfaces of every kind.
func ways(t *testing.T, entries string) *Ways {
	t.Helper()
	h := newHost(t)
	h.file("proc/interrupts", "  CPU0 CPU1\n24: 1 2 PCI-MSI 0-edge eth0-rx-0\n25: 1 2 PCI-MSI 1-edge eth0-rx-1\n")
	for n, cpus := range map[string]string{"24": "0", "25": "1"} {
		h.line(n, "0644", cpus, cpus, "eth0-rx-"+map[string]string{"24": "0", "25": "1"}[n], "PCI-MSI")
	}
	h.file("proc/sys/net/core/rps_sock_flow_entries", entries+"\n")
	h.link("proc/self/ns/net", "net:[77]")
	nic := func(name, index string) { h.file("sys/class/net/"+name+"/ifindex", index+"\n") }
	queue := func(name, queue, rps, flows string) {
		h.file("sys/class/net/"+name+"/queues/"+queue+"/rps_cpus", rps+"\n")
		h.file("sys/class/net/"+name+"/queues/"+queue+"/rps_flow_cnt", flows+"\n")
	}
	nic("lo", "1")
	queue("lo", "rx-0", "0", "0")
	nic("eth0", "2")
	h.dir("sys/devices/pci0000:00/0000:00:03.0/msi_irqs")
	h.file("sys/devices/pci0000:00/0000:00:03.0/msi_irqs/24", "msi\n")
	h.file("sys/devices/pci0000:00/0000:00:03.0/msi_irqs/25", "msi\n")
	h.link("sys/devices/pci0000:00/0000:00:03.0/driver", "/sys/bus/pci/drivers/ixgbe")
	h.link("sys/class/net/eth0/device", "../../../devices/pci0000:00/0000:00:03.0")
	h.file("sys/devices/pci0000:00/0000:00:03.0/net/eth0/x", "")
	queue("eth0", "rx-0", "0", "0")
	queue("eth0", "rx-1", "3", "256")
	nic("vlan5", "3")
	h.link("sys/class/net/vlan5/lower_eth0", "../eth0")
	nic("br0", "4")
	h.link("sys/class/net/br0/lower_eth0", "../eth0")
	h.link("sys/class/net/br0/lower_lo", "../lo")
	nic("veth1", "5")
	queue("veth1", "rx-0", "1", "0")
	m := NewMonitor(h.root)
	table, err := m.Table()
	require.NoError(t, err)
	return NewWays(New(h.root), &table)
}

func TestWays(t *testing.T) {
	w := ways(t, "0")
	for _, tt := range []struct {
		index, queue int
		name         string
		via          Via
		text         string
	}{
		{1, -1, "lo", ViaSender, "sender"},
		{2, 0, "eth0", ViaIRQ, "irq 24 on 0"},
		{2, 1, "eth0", ViaRPS, "rps 0-1"},
		{2, -1, "eth0", ViaIRQ, "irq"},
		{3, 0, "vlan5", ViaIRQ, "irq 24 on 0"},
		{4, 0, "br0", "", ""},
		{5, 0, "veth1", ViaRPS, "rps 0"},
		{9, 0, "", "", ""}, {0, -1, "", "", ""},
	} {
		way := w.Of(77, tt.index, tt.queue)
		assert.Equal(t, tt.name, way.Interface)
		assert.Equal(t, tt.via, way.Via, tt.name)
		assert.Equal(t, tt.text, way.String(), tt.name)
	}
	assert.Equal(t, 0, w.Of(77, 1, -1).Queue, "the only one")
	other := w.Of(78, 2, 0)
	assert.Equal(t, Way{NetNS: true, Queue: 0}, other)
	assert.Equal(t, "other network namespace", other.String())

	w = ways(t, "32768")
	assert.Equal(t, ViaRFS, w.Of(77, 2, 1).Via)
	assert.Equal(t, ViaIRQ, w.Of(77, 2, 0).Via, "of this queue RFS is off")
}
