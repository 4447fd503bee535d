package kthread

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"piton/internal/cpuset"
)

func TestExplain(t *testing.T) {
	for _, tt := range []struct {
		comm  string
		what  string
		bound Bound
		cpu   cpuset.CPU
		irq   int
	}{
		{"kworker/1:1H-kblockd", "worker 1 of CPU 1's high-priority pool, nice -20; last ran work of kblockd (starting disk requests)", BoundCPU, 1, -1},
		{"kworker/12:0-events", "worker 0 of CPU 12's pool, nice 0; last ran work of events (the common queue of the kernel)", BoundCPU, 12, -1},
		{"kworker/12:0", "worker 0 of CPU 12's pool, nice 0; idle, or its queue is not told", BoundCPU, 12, -1},
		{"kworker/u8:3+flush-254:0", "worker 3 of the unbound pool 8, for work that may run on several CPUs; now runs work of flush-254:0", BoundUnknown, -1, -1},
		{"kworker/R-xfsalloc", "rescuer of the workqueue xfsalloc", BoundUnknown, -1, -1},
		{"ksoftirqd/7", "runs softirqs of its CPU", BoundCPU, 7, -1},
		{"migration/0", "moves running tasks", BoundCPU, 0, -1},
		{"cpuhp/3", "online and offline", BoundCPU, 3, -1},
		{"watchdog/3", "still schedules", BoundCPU, 3, -1},
		{"watchdogd", "hardware watchdog", BoundNowhere, -1, -1},
		{"rcuop/3", "RCU callbacks", BoundNowhere, -1, -1},
		{"rcu_preempt", "grace periods", BoundNowhere, -1, -1},
		{"rcu_tasks_kthread", "one of RCU's variants", BoundNowhere, -1, -1},
		{"rcu_exp_gp_kthr", "one of RCU's variants", BoundNowhere, -1, -1},
		{"irq/24-eth0", "threaded handler", BoundNowhere, -1, 24},
		{"irq/24-s-aerdrv", "second handler", BoundNowhere, -1, 24},
		{"irq/24-PCIe PME", "threaded handler", BoundNowhere, -1, 24},
		{"kswapd1", "NUMA node", BoundNode, -1, -1},
		{"kcompactd0", "large free blocks", BoundNode, -1, -1},
		{"khugepaged", "huge", BoundNowhere, -1, -1},
		{"jbd2/vda1-8", "journal", BoundNowhere, -1, -1},
		{"napi/eth0-8193", "polls a queue", BoundNowhere, -1, -1},
		{"xfsaild/dm-0", "metadata", BoundNowhere, -1, -1},
		{"pool_workqueue_", "no longer used", BoundNowhere, -1, -1},
		{"kblockd", "rescuer", BoundUnknown, -1, -1},
	} {
		m, ok := Explain(tt.comm)
		assert.True(t, ok, tt.comm)
		assert.Contains(t, m.What, tt.what, tt.comm)
		assert.Equal(t, tt.bound, m.Bound, tt.comm)
		assert.Equal(t, tt.cpu, m.CPU, tt.comm)
		assert.Equal(t, tt.irq, m.IRQ, tt.comm)
		assert.NotEmpty(t, m.Maker, tt.comm)
		assert.NotEmpty(t, m.Do, tt.comm)
	}
	for _, comm := range []string{"", "nginx", "kworker/", "kworker/x", "kworker/99999999999:0", "kworker/R-", "ksoftirqd/", "ksoftirqd/x", "irq/x-y", "xmigration/0"} {
		_, ok := Explain(comm)
		assert.False(t, ok, comm)
	}
}

func FuzzExplain(f *testing.F) {
	f.Add("kworker/1:1H-kblockd")
	f.Add("irq/24-s-eth0")
	f.Fuzz(func(t *testing.T, comm string) {
		m, ok := Explain(comm)
		assert.Equal(t, ok, m.What != "")
		if ok {
			assert.Equal(t, m.CPU >= 0, m.Bound == BoundCPU && m.CPU >= 0)
		}
	})
}
