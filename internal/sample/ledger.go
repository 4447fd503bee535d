package sample

import (
	"path/filepath"
	"strconv"
	"strings"

	"piton/internal/bpf"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

// ledger writes down who has each CPU while somebody asks for it. Nothing is
// attached otherwise.
type ledger struct {
	kernel    *bpf.Ledger
	refuse    error // why it cannot be written; it is not tried again
	intervals []bpf.RunInterval
	irqs      map[uint32]string
}

// read sets n.RunIntervals to who ran where since the last sample, or since now.
func (l *ledger) read(n *Sample, fs procfs.FS, r *procfs.Reader) error {
	if l.refuse != nil {
		return l.refuse
	}
	if l.kernel == nil {
		if l.kernel, l.refuse = bpf.OpenLedger(); l.refuse != nil {
			return l.refuse
		}
		l.irqs = map[uint32]string{}
		return nil
	}
	intervals, stats, err := l.kernel.Drain(l.intervals[:0])
	if err != nil {
		return err
	}
	l.intervals, n.RunIntervalsLost = intervals, stats.Lost
	n.RunIntervals = make([]RunInterval, len(intervals))
	for i := range intervals {
		v := &intervals[i]
		n.RunIntervals[i] = RunInterval{
			CPU: v.CPU, Kind: v.Kind, RunNs: v.OnNs, WaitNs: v.WaitNs,
			LongestNs: v.LongestNs, Times: uint64(v.Count),
		}
		out := &n.RunIntervals[i]
		switch v.Kind {
		case bpf.KindTask:
			out.TID, out.Name = kernel.TID(v.ID), taskName(n.Tasks, v, r)
		case bpf.KindIRQ:
			out.Number, out.Name = int(v.ID), l.irqName(v.ID, fs)
		case bpf.KindSoftIRQ:
			out.Number, out.Name = int(v.ID), SoftIRQName(v.ID)
		}
	}
	return nil
}

// taskName is the name of a task as in the tasks of the sample. The kernel
// noted that of one that left the CPU; one that stayed lives, so /proc has it.
func taskName(tasks []*Task, v *bpf.RunInterval, r *procfs.Reader) string {
	if v.ID == 0 {
		return "idle"
	}
	tid := kernel.TID(v.ID)
	if i, found := Find(tasks, tid); found {
		return tasks[i].ID.Comm
	}
	if v.Comm != "" {
		return v.Comm
	}
	name, err := r.Task(v.TGID, tid, "comm")
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(name), "\n")
}

// irqName is the actions of an interrupt line, as /proc/interrupts ends with.
func (l *ledger) irqName(number uint32, fs procfs.FS) string {
	name, known := l.irqs[number]
	if !known {
		name, _ = procfs.Text(filepath.Join(fs.Root(), "sys/kernel/irq", strconv.Itoa(int(number)), "actions"))
		l.irqs[number] = name
	}
	return name
}

// softIRQNames are the vectors of include/linux/interrupt.h, as /proc/softirqs
// has them.
var softIRQNames = [...]string{"HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"}

// SoftIRQName is the name of a vector.
func SoftIRQName(vector uint32) string {
	if int(vector) >= len(softIRQNames) {
		return strconv.Itoa(int(vector))
	}
	return softIRQNames[vector]
}

// close detaches.
func (l *ledger) close() {
	if l.kernel != nil {
		l.kernel.Close()
		l.kernel, l.intervals, l.irqs = nil, nil, nil
	}
}
