package irq

import (
	"fmt"
	"strings"

	"piton/internal/cpuset"
	"piton/internal/procfs"
)

// readList reads a file that holds a cpulist.
func readList(path string) Mask {
	set, ok := procfs.CPUs(path)
	return Mask{set, ok}
}

// ReadMask reads a file that holds a cpumask.
func ReadMask(path string) Mask {
	text, ok := procfs.Text(path)
	set, err := cpuset.ParseMask(text)
	return Mask{set, ok && err == nil}
}

// readNumber reads a file that holds a number, or returns none.
func readNumber(path string, none int) int {
	if n, ok := procfs.Number(path); ok {
		return n
	}
	return none
}

// The files that an interrupt's way is set through, on the running machine.
const (
	DefaultAffinityFile = "/proc/irq/default_smp_affinity"
	FlowEntriesFile     = "/proc/sys/net/core/rps_sock_flow_entries"
)

// AffinityFile is the file that holds the CPUs of a line, as a cpulist.
func AffinityFile(irq int) string { return fmt.Sprintf("/proc/irq/%d/smp_affinity_list", irq) }

// RPSFile is the file that holds the CPUs of an interface's receive queue.
func RPSFile(nic string, queue int) string { return queueFile(nic, "rx", queue, "rps_cpus") }

// FlowsFile is the file that holds how many flows of a receive queue RFS steers.
func FlowsFile(nic string, queue int) string { return queueFile(nic, "rx", queue, "rps_flow_cnt") }

// XPSFile is the file that holds the CPUs of an interface's sending queue.
func XPSFile(nic string, queue int) string { return queueFile(nic, "tx", queue, "xps_cpus") }

func queueFile(nic, way string, queue int, setting string) string {
	return fmt.Sprintf("/sys/class/net/%s/queues/%s-%d/%s", nic, way, queue, setting)
}

// Title is what a sentence calls the line: "irq 24 (virtio0-input.0)".
func (i *IRQ) Title() string { return Title(i.Number, i.Actions) }

// Title is what a sentence calls a line with these handlers.
func Title(irq int, handlers []string) string {
	if len(handlers) == 0 {
		return fmt.Sprintf("irq %d", irq)
	}
	return fmt.Sprintf("irq %d (%s)", irq, strings.Join(handlers, ", "))
}
