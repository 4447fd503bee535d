package irq

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"piton/internal/kernel"
)

func lines() *Table {
	row := func(n int, d Device, actions ...string) Row {
		return Row{IRQ: IRQ{Number: n, Facts: Facts{Actions: actions, Device: d, Queue: queueOf(actions)}}}
	}
	nic := Device{Address: "0000:00:03.0", Driver: "virtio_net", Names: []string{"eth0"}}
	t := &Table{Rows: []Row{
		row(0, Device{}, "timer"),
		row(9, Device{}, "acpi"),
		row(24, nic, "virtio0-config"),
		row(25, nic, "virtio0-input.0"),
		row(26, nic, "virtio0-output.0"),
		row(30, Device{Address: "0000:00:05.0", Driver: "nvme", Names: []string{"nvme0n1"}}, "nvme0q1"),
		row(31, Device{}, "PCIe PME", "pciehp", "a/b"),
	}}
	t.Rows[1].Threads = []Thread{{TID: kernel.TID(77), Comm: "irq/9-acpi"}}
	return t
}

func TestChoose(t *testing.T) {
	tests := []struct {
		words []string
		want  []int
		none  int
	}{
		{[]string{"24"}, []int{24}, 0},
		{[]string{"26", "24-25"}, []int{24, 25, 26}, 0},
		{[]string{"24,30", "24"}, []int{24, 30}, 0},
		{[]string{"virtio0-*put.*"}, []int{25, 26}, 0},
		{[]string{"eth0"}, []int{24, 25, 26}, 0},
		{[]string{"nvme0n1"}, []int{30}, 0},
		{[]string{"nvme"}, []int{30}, 0},
		{[]string{"0000:00:03.0"}, []int{24, 25, 26}, 0},
		{[]string{"irq/9-*"}, []int{9}, 0},
		{[]string{"a/*"}, []int{31}, 0},
		{[]string{"pciehp"}, []int{31}, 0},
		{[]string{"*"}, []int{0, 9, 24, 25, 26, 30, 31}, 0},
		{[]string{"99"}, nil, 1},
		{[]string{"eth"}, nil, 1},
		{[]string{"", "[", "99999999", "24"}, []int{24}, 3},
	}
	for _, tt := range tests {
		rows, unmatched := lines().Choose(tt.words)
		var got []int
		for _, r := range rows {
			got = append(got, r.Number)
		}
		assert.Equal(t, tt.want, got, "%q", tt.words)
		assert.Len(t, unmatched, tt.none, "%q", tt.words)
	}
	_, unmatched := lines().Choose([]string{"eth9"})
	assert.EqualError(t, unmatched[0], `no interrupt line matches "eth9"`)
}

func FuzzChoose(f *testing.F) {
	f.Add("24-31")
	f.Add("virtio*[")
	f.Fuzz(func(t *testing.T, word string) {
		rows, unmatched := lines().Choose([]string{word})
		if (len(rows) == 0) != (len(unmatched) == 1) {
			t.Fatalf("%q: %d lines, %d errors", word, len(rows), len(unmatched))
		}
	})
}

func TestTitle(t *testing.T) {
	table := lines()
	assert.Equal(t, "irq 25 (virtio0-input.0)", table.Rows[3].Title())
	assert.Equal(t, "irq 31 (PCIe PME, pciehp, a/b)", table.Rows[6].Title())
	assert.Equal(t, "irq 7", Title(7, nil))
	assert.Equal(t, "/sys/class/net/eth0/queues/rx-3/rps_cpus", RPSFile("eth0", 3))
	assert.Equal(t, "/proc/irq/7/smp_affinity_list", AffinityFile(7))
}
