package partition

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change/attr"
)

// TestReadMasks: what a machine has once, each workqueue's own, and the queues that spread.
func TestReadMasks(t *testing.T) {
	root := t.TempDir()
	write := func(path, text string, mode os.FileMode) {
		path = filepath.Join(root, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), mode))
	}
	assert.Empty(t, ReadMasks(root))
	write("proc/irq/default_smp_affinity", "ff\n", 0o644)
	write("sys/devices/virtual/workqueue/cpumask", "0f\n", 0o644)
	write("sys/devices/virtual/workqueue/writeback/cpumask", "f0\n", 0o644)
	write("sys/devices/virtual/workqueue/scsi_tmf_0/cpumask", "ff\n", 0o444)
	write("sys/devices/virtual/workqueue/scsi_tmf_0/nice", "0\n", 0o644)
	write("sys/class/net/eth0/queues/rx-0/rps_cpus", "00\n", 0o644)
	write("sys/class/net/eth0/queues/rx-1/rps_cpus", "03\n", 0o644)
	var got []Mask
	for _, m := range ReadMasks(root) {
		assert.Equal(t, m.Name == "workqueue scsi_tmf_0", m.ReadOnly, m.Name)
		m.ReadOnly = false
		got = append(got, m)
	}
	mask := func(a attr.Attribute, path, name, cpus string) Mask {
		return Mask{Attribute: a, Path: path, Name: name, CPUs: set(t, cpus)}
	}
	assert.Equal(t, []Mask{
		mask(attr.DefaultIRQAffinity, "/proc/irq/default_smp_affinity", "default of new IRQs", "0-7"),
		mask(attr.WorkqueueMask, "/sys/devices/virtual/workqueue/cpumask", "unbound workqueues", "0-3"),
		mask(attr.WorkqueueMask, "/sys/devices/virtual/workqueue/scsi_tmf_0/cpumask", "workqueue scsi_tmf_0", "0-7"),
		mask(attr.WorkqueueMask, "/sys/devices/virtual/workqueue/writeback/cpumask", "workqueue writeback", "4-7"),
		mask(attr.RPSCPUs, "/sys/class/net/eth0/queues/rx-1/rps_cpus", "eth0 rx-1", "0-1"),
	}, got)
}
