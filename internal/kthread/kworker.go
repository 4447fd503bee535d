package kthread

import (
	"fmt"
	"strconv"
	"strings"

	"piton/internal/cpuset"
	"piton/internal/pattern"
)

// Names of kernel/workqueue.c: "0:1H-kblockd" serves CPU 0, "u9:2+writeback" a
// pool of no CPU, "R-xfsalloc" is a rescuer. "-" precedes the queue last served,
// "+" the one being served now.
var (
	boundWorker   = pattern.Lazy(`^(\d+):(\d+)(H?)(?:([-+])(.*))?$`)
	unboundWorker = pattern.Lazy(`^u(\d+):(\d+)(H?)(?:([-+])(.*))?$`)
)

const workqueues = "the kernel's workqueues (kernel/workqueue.c)"

// explainWorker decodes what follows "kworker/".
func explainWorker(rest string) (Meaning, bool) {
	if queue, ok := strings.CutPrefix(rest, "R-"); ok && queue != "" {
		return Meaning{
			What:  fmt.Sprintf("rescuer of the workqueue %s: runs its work when memory is too short to start a worker", queue),
			Maker: workqueues, Do: "nothing: it sleeps unless memory runs out",
			Bound: BoundUnknown, CPU: -1, IRQ: -1,
		}, true
	}
	if g := boundWorker().FindStringSubmatch(rest); g != nil {
		n, err := strconv.Atoi(g[1])
		if err != nil || n > int(cpuset.MaxCPU) {
			return Meaning{}, false
		}
		what := fmt.Sprintf("worker %s of CPU %d's pool, nice 0", g[2], n)
		if g[3] != "" {
			what = fmt.Sprintf("worker %s of CPU %d's high-priority pool, nice -20", g[2], n)
		}
		return Meaning{
			What: what + served(g[4], g[5]), Maker: workqueues, Bound: BoundCPU, CPU: cpuset.CPU(n), IRQ: -1,
			Do: "it cannot be moved; move what queues the work here: " + advice(g[5]),
		}, true
	}
	if g := unboundWorker().FindStringSubmatch(rest); g != nil {
		return Meaning{
			What:  fmt.Sprintf("worker %s of the unbound pool %s, for work that may run on several CPUs", g[2], g[1]) + served(g[4], g[5]),
			Maker: workqueues, Bound: BoundUnknown, CPU: -1, IRQ: -1,
			Do: "the cpumask of its workqueue decides: /sys/devices/virtual/workqueue/cpumask is that of all",
		}, true
	}
	return Meaning{}, false
}

// served names the queue.
func served(sign, queue string) string {
	switch {
	case queue == "":
		return "; idle, or its queue is not told"
	case sign == "+":
		return "; now runs work of " + queue + about(queue)
	}
	return "; last ran work of " + queue + about(queue)
}

// queues are workqueues that are often met.
var queues = map[string]string{
	"events": "the common queue of the kernel", "events_unbound": "the common unbound queue",
	"events_highpri": "the common queue of high priority", "events_power_efficient": "housekeeping that may run anywhere",
	"events_freezable": "common work that stops for suspend", "mm_percpu_wq": "vmstat counters and drained page lists",
	"kblockd": "starting disk requests", "writeback": "writing dirty pages to disks", "rcu_gp": "grace periods of RCU",
	"rcu_par_gp": "grace periods of RCU", "kthrotld": "throttled disk I/O", "netns": "network namespaces that end",
	"ipv6_addrconf": "IPv6 addresses", "cgroup_destroy": "control groups that end", "kverityd": "dm-verity", "kcryptd": "disk encryption",
	"ext4-rsv-conversion": "ext4: extents after writes", "xfs-conv": "XFS: extents after writes", "btrfs-endio": "btrfs: ended I/O",
	"nvme-wq": "NVMe: resets and keep-alive", "mlx5e": "Mellanox NIC", "ata_sff": "ATA polling", "pm": "power management",
}

// about explains a queue in brackets, "" for one that is not known.
func about(queue string) string {
	if text, ok := queues[queue]; ok {
		return " (" + text + ")"
	}
	return ""
}

// advice is what lessens the work of a queue on one CPU.
func advice(queue string) string {
	switch queue {
	case "mm_percpu_wq":
		return "a larger vm.stat_interval, or nohz_full= for that CPU, makes it rarer"
	case "kblockd":
		return "tasks that do I/O, and the disk's interrupts"
	case "rcu_gp", "rcu_par_gp":
		return "rcu_nocbs= at boot"
	}
	return "tasks and interrupts of that CPU"
}
