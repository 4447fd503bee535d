package waits

import (
	"bytes"
	"fmt"
	"time"

	"piton/internal/bpf/object"
	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/kernel"
	"piton/internal/why"
)

// softIRQs are the vectors of include/linux/interrupt.h, by number.
var softIRQs = [...]string{"HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"}

// names turns what programs saw into what people know.
type names struct {
	groups *object.Groups
	lines  map[uint32]string // of interrupts
}

func (n *names) by(k rowKey, name [16]byte) why.By {
	by := why.By{Cause: k.Cause, Group: n.groups.Path(k.Group), Policy: k.Policy, Priority: int(k.Priority)}
	switch k.Cause {
	case hardInterrupt:
		by.Cause, by.Command = why.Kernel, "irq "+n.line(k.ID)
	case softInterrupt:
		by.Cause, by.Command = why.Kernel, "softirq "+softIRQ(k.ID)
	default:
		comm, _, _ := bytes.Cut(name[:], []byte{0})
		by.Command, by.PID = string(comm), kernel.TID(k.ID)
	}
	return by
}

func softIRQ(vector uint32) string {
	if int(vector) < len(softIRQs) {
		return softIRQs[vector]
	}
	return fmt.Sprint(vector)
}

// line is what an interrupt is called, its number where it has no name.
func (n *names) line(number uint32) string {
	if _, known := n.lines[number]; !known {
		if n.lines == nil {
			n.lines = map[uint32]string{}
		}
		name := irq.New("/").Name(int(number))
		if name == "" {
			name = fmt.Sprint(number)
		}
		n.lines[number] = name
	}
	return n.lines[number]
}

func (n *names) longest(l *longestWait) why.LongestWait {
	if l.Ns == 0 {
		return why.LongestWait{}
	}
	out := why.LongestWait{
		TID: l.TID, CPU: cpuset.CPU(l.CPU), Time: time.Duration(l.Ns),
		End: time.Now().Add(time.Duration(l.EndNs) - kernel.Monotonic()),
	}
	for _, p := range l.Parts[:min(l.Used, maxParts)] {
		out.Parts = append(out.Parts, why.Waited{By: n.by(p.Key, p.Name), Time: time.Duration(p.Ns), Waits: 1, Longest: time.Duration(p.Ns)})
	}
	for cause, ns := range l.Rest { // of more than there was room for
		if ns > 0 {
			out.Parts = append(out.Parts, why.Waited{By: why.By{Cause: why.Cause(cause)}, Time: time.Duration(ns), Waits: 1, Longest: time.Duration(ns)})
		}
	}
	why.SortWaited(out.Parts)
	return out
}
