package noise

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"piton/internal/bpf"
	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/procfs"
	"piton/internal/sample"
)

// Kind is what took a CPU.
type Kind string

// The kinds.
const (
	Task      Kind = "task"
	Kthread   Kind = "kthread"
	IRQ       Kind = "irq"
	SoftIRQ   Kind = "softirq"
	Interrupt Kind = "interrupt" // that CPUs send themselves and each other
	NMI       Kind = "nmi"
	Hardware  Kind = "hardware" // nothing of the kernel: firmware (SMI) or the hypervisor
	Unknown   Kind = "unknown"
)

// Who took a CPU.
type Who struct {
	Kind   Kind
	Number int // tid or interrupt line
	Name   string
}

// Part is the time that somebody took of a gap, without what interrupted that.
type Part struct {
	Who
	Length time.Duration
}

// Gap is a time in which the thread on a CPU did not run.
type Gap struct {
	CPU        cpuset.CPU
	At, Length time.Duration // CLOCK_MONOTONIC
	Parts      []Part        // the longest first; one at least
}

// overhead is what the begin and the end of what was named may take beside its own time.
const overhead = 20 * time.Microsecond

// rest adds to the parts of a gap what nobody took: all of it where there are none, else what is more
// than half of it. blind: somebody may not have been seen.
func rest(parts []Part, length time.Duration, blind bool) []Part {
	left := length
	for _, p := range parts {
		left -= p.Length
	}
	if len(parts) == 0 || left > length/2 && left > overhead {
		who := Who{Kind: Hardware, Name: "SMI or hypervisor"}
		if blind {
			who = Who{Kind: Unknown}
		}
		parts = append(parts, Part{who, left})
	}
	slices.SortStableFunc(parts, func(a, b Part) int { return cmp.Compare(b.Length, a.Length) })
	return parts
}

// split gives each moment to what began last of what goes on then, and sums that up by who it is.
func split(events []bpf.Interruption, who func(bpf.Interruption) Who) (parts []Part) {
	slices.SortStableFunc(events, func(a, b bpf.Interruption) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.Length, a.Length))
	})
	net := make([]time.Duration, len(events))
	var open []int
	for i, e := range events {
		net[i] = e.Length
		for len(open) > 0 && events[open[len(open)-1]].Start+events[open[len(open)-1]].Length <= e.Start {
			open = open[:len(open)-1]
		}
		if len(open) > 0 {
			net[open[len(open)-1]] -= e.Length
		}
		open = append(open, i)
	}
	for i, e := range events {
		its := who(e)
		at := slices.IndexFunc(parts, func(p Part) bool { return p.Who == its })
		if at < 0 {
			at = len(parts)
			parts = append(parts, Part{Who: its})
		}
		parts[at].Length += max(net[i], 0)
	}
	return parts
}

// local are the lines of /proc/interrupts by vector (arch/x86/include/asm/irq_vectors.h).
var local = map[int]string{
	0xec: "LOC", 0xfd: "RES", 0xfc: "CAL", 0xfb: "CAL", 0xf6: "IWI", 0xf7: "PLT", 0xff: "SPU", 0xfe: "ERR", 0xfa: "TRM", 0xf9: "THR", 0xf4: "DFR",
}

// namer names what came.
type namer struct{ lines map[int]string }

func (n namer) who(e bpf.Interruption) Who {
	switch e.Kind {
	case bpf.NoiseTask:
		if e.Flags&procfs.FlagKernelThread != 0 {
			return Who{Kthread, e.ID, e.Comm}
		}
		return Who{Task, e.ID, e.Comm}
	case bpf.NoiseIRQ:
		name, known := n.lines[e.ID]
		if !known {
			name = irq.New("/").Name(e.ID)
			n.lines[e.ID] = name
		}
		return Who{IRQ, e.ID, name}
	case bpf.NoiseSoftIRQ:
		return Who{Kind: SoftIRQ, Name: sample.SoftIRQName(uint32(e.ID))}
	case bpf.NoiseNMI:
		return Who{Kind: NMI, Name: "NMI"}
	}
	return Who{Kind: Interrupt, Name: cmp.Or(local[e.ID], "IPI")}
}

// String is "kworker/3:1 912", "irq 24 eth0", "softirq RCU".
func (w Who) String() string {
	switch w.Kind {
	case Task, Kthread:
		return w.Name + " " + strconv.Itoa(w.Number)
	case IRQ:
		return "irq " + strconv.Itoa(w.Number) + " " + w.Name
	case SoftIRQ, Interrupt:
		return string(w.Kind) + " " + w.Name
	}
	return cmp.Or(w.Name, string(w.Kind))
}
