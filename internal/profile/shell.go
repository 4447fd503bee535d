package profile

import (
	"fmt"
	"strings"

	"piton/internal/kernel"
)

// Shell writes a script that gives every thread of a process, its only argument,
// the settings of p with the tools of util-linux and coreutils.
func Shell(p UnitSettings) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "#!/bin/sh\n# Settings of %s, by piton export shell, for every thread of process $1.\n", comment(p.Comm))
	for _, o := range p.Others {
		fmt.Fprintf(&b, "# not in it: a thread's own values, %s\n", o)
	}
	if p.Memory != "" {
		fmt.Fprintf(&b, "# not in it: its memory policy %s, which only the process itself can set (numactl(8) at its start)\n", p.Memory)
	}
	if start := p.start(); start != "" {
		fmt.Fprintf(&b, "# To start a command like it: %s COMMAND\n", start)
	}
	fmt.Fprintf(&b, shellLoop, p.CPUs, p.Nice, p.ionice(), p.chrt())
	return []byte(b.String())
}

// shellLoop sets each thread. A thread that has ended meanwhile has no directory any more, and
// is no failure.
const shellLoop = `pid=${1:?the number of a process}
[ -d "/proc/$pid/task" ] || { echo "there is no process $pid" >&2; exit 1; }
for task in /proc/"$pid"/task/*; do
	tid=${task##*/}
	taskset -pc %s "$tid" >/dev/null &&
		renice -n %d -p "$tid" >/dev/null &&
		ionice %s -p "$tid" >/dev/null &&
		%s "$tid" >/dev/null ||
		[ ! -e "$task" ] || exit 1
done
`

func (p *UnitSettings) ionice() string {
	text := fmt.Sprintf("-c %d", p.IOPrio.Class) // ionice(1) has the kernel's numbers
	if p.IOPrio.Class == kernel.IORealTime || p.IOPrio.Class == kernel.IOBestEffort {
		text += fmt.Sprintf(" -n %d", p.IOPrio.Level)
	}
	return text
}

// chrtPolicy is the policy in chrt's options, and the priority that goes with it.
func (p *UnitSettings) chrtPolicy() (options string, priority int) {
	letter := map[kernel.Policy]string{
		kernel.Other: "-o", kernel.Batch: "-b", kernel.Idle: "-i", kernel.FIFO: "-f", kernel.RR: "-r", kernel.Deadline: "-d", kernel.Ext: "-e",
	}[p.Policy.Policy]
	if p.Policy.ResetOnFork {
		letter = "-R " + letter
	}
	if p.Policy.Policy == kernel.Deadline {
		letter += fmt.Sprintf(" -T %d -D %d -P %d", p.Policy.Runtime.Nanoseconds(), p.Policy.Deadline.Nanoseconds(), p.Policy.Period.Nanoseconds())
	}
	return letter, p.Policy.RTPrio
}

func (p *UnitSettings) chrt() string {
	options, priority := p.chrtPolicy()
	return fmt.Sprintf("chrt %s -p %d", options, priority)
}

// start is what to put before a command, "" for nothing.
func (p *UnitSettings) start() string {
	var out []string
	if !p.AllCPUs {
		out = append(out, "taskset -c "+p.CPUs.String())
	}
	if mode, nodes, ok := strings.Cut(p.Memory, ":"); ok {
		if option := map[string]string{"bind": "--membind", "prefer": "--preferred", "interleave": "--interleave"}[mode]; option != "" {
			out = append(out, "numactl "+option+"="+nodes)
		}
	}
	if p.Nice != 0 {
		out = append(out, fmt.Sprintf("nice -n %d", p.Nice))
	}
	if p.IOPrio.Class != kernel.IONone {
		out = append(out, "ionice "+p.ionice())
	}
	if p.Policy.Policy != kernel.Other || p.Policy.ResetOnFork {
		options, priority := p.chrtPolicy()
		out = append(out, fmt.Sprintf("chrt %s %d", options, priority))
	}
	return strings.Join(out, " ")
}
