package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"piton/internal/field"
)

const headlessHelp = `piton --headless prints the machine every -d until ^C, or -n times. Rates are over the interval, so the first
sample comes after one interval; but -n 1 of --columns without rates is printed at once, in the order of tid. Columns,
order and filter name figures by the ids below, by their headings, or by short names such as mig, mem, cpu%.

With -o json every sample is these lines, one object each. A figure that is not known is null. Names are stable:
new ones may be added, and "v" changes if a meaning does.
  {"type":"host"}  v, tick, time, interval_s, host, processes, threads, running, load1 …, mem_total_bytes …,
                   migrations_per_s, migrations_source (ebpf and sched are exact, perf and sampled lower bounds),
                   least_loaded (CPU)
  {"type":"cpu"}   cpu; busy, user, nice, system, irq, softirq, steal, guest, iowait: shares 0 to 1 of the interval;
                   migrations: tasks that came to it since piton started; in_per_s; source; pinned: tasks that may
                   run only there; rt_tid: the busiest real-time task
  {"type":"task"}  the columns, by default all that a machine wants: counters such as migrations and run_delay_ns are
                   over the task's life, names in _per_s and _percent are over the interval, affinity is a cpulist
  {"type":"end"}   tick, tasks

A change (--pin, --nice, --policy, --ioprio and the commands) prints, with -o json:
  {"type":"choice"}   tid, cpus, reason, warning: which CPUs were chosen and why
  {"type":"change"}   pid, tid, comm, attribute (affinity, nice, policy, ioprio, slice, uclamp, cookie,
                      memory, autogroup, …), before, after,
                      status (planned, done, unchanged, failed, refused), error, reason: one a thread
  {"type":"memory"}   pid, node, pages_before, pages_after: behind a change of memory, one a node
  {"type":"summary"}  how many of each status, processes, threads, journal (entry for piton undo), warnings, exit_code

Filter:
`

// checkTopic refuses words behind a topic of the help, which cobra passes over.
func checkTopic(root *cobra.Command, args []string) error {
	cmd, rest, err := root.Find(args)
	if err != nil || cmd.Runnable() || cmd.ParseFlags(rest) != nil {
		return nil // cobra tells
	}
	return noArgs(cmd, cmd.Flags().Args())
}

// newHeadlessHelp is "piton help headless".
func newHeadlessHelp(*app) *cobra.Command {
	var columns strings.Builder
	for i := range field.Columns {
		c := &field.Columns[i]
		fmt.Fprintf(&columns, "  %-20s %-9s %s\n", c.ID, c.Title, c.Help)
	}
	return &cobra.Command{
		Use:   "headless",
		Short: "what --headless prints: JSON lines, columns, filters",
		Long: headlessHelp + "  " + strings.ReplaceAll(field.FilterHelp, "\n", "\n  ") +
			"\n\nColumns:\n" + strings.TrimRight(columns.String(), "\n"),
	}
}
