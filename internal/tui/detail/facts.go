package detail

import (
	"fmt"
	"time"

	"piton/internal/field"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/sample"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// fact is one labelled figure.
type fact struct{ label, value string }

// labelWidth is the cells that labels take.
const labelWidth = 11

// factLines is how many facts each of the two lists has.
const factLines = 7

// left is what identifies the process, right is how it runs now.
func left(row field.Row) []fact {
	task := row.Task()
	facts := []fact{
		{"PID", fmt.Sprintf("%d, child of %d", task.TGID, task.PPID)},
		{"user", field.Cell("user", row)},
		{"start", started(row)},
		{"state", stateWords(task.State)},
		{"threads", field.Cell("threads", row)},
		{"switches", fmt.Sprintf("%s vol, %s invol /s", field.Cell("voluntary_per_s", row), field.Cell("involuntary_per_s", row))},
		{"run delay", percent(field.Cell("run_delay_percent", row)) + " waiting for a CPU"},
	}
	if !task.IsProcess() {
		facts[0].value = fmt.Sprintf("%d, thread %d", task.TGID, task.TID)
	}
	return facts
}

func right(row field.Row) []fact {
	task := row.Task()
	nice := field.Cell("nice", row)
	if task.Policy.RealTime() {
		nice += " (once it is OTHER again)"
	}
	return []fact{
		{"core", core(row)},
		{"CPU", percent(field.Cell("cpu_percent", row)) + ", " + field.Cell("time_s", row) + " in all"},
		{"RAM", field.Cell("rss_bytes", row) + ", " + percent(field.Cell("mem_percent", row))},
		{"nice", nice},
		{"policy", policy(task)},
		{"priority", field.Cell("priority", row) + ", I/O " + field.Cell("ioprio", row)},
		{"migrations", migrations(row)},
	}
}

func percent(figure string) string {
	if figure == field.None || figure == field.NoneASCII {
		return figure
	}
	return figure + " %"
}

func migrations(row field.Row) string {
	if row.Task().Have&sample.HaveMigrations == 0 {
		return field.Cell("migrations_per_s", row)
	}
	return fmt.Sprintf("%s/s, %s in all (%s)",
		field.Cell("migrations_per_s", row), field.Cell("migrations", row), field.Cell("migrations_source", row))
}

// core is the CPU with where it is: "3, node 0, LLC 0".
func core(row field.Row) string {
	task := row.Task()
	s := field.Cell("cpu", row)
	for _, c := range row.M.Topology.CPUs {
		if int32(c.ID) != task.LastCPU {
			continue
		}
		if c.Node >= 0 {
			s += fmt.Sprintf(", node %d", c.Node)
		}
		if c.LLCIndex >= 0 {
			s += fmt.Sprintf(", LLC %d", c.LLCIndex)
		}
	}
	return s
}

func policy(task *sample.Task) string {
	s := task.Policy.String()
	if task.Policy == kernel.FIFO || task.Policy == kernel.RR {
		s += fmt.Sprintf(", real-time priority %d", task.RTPrio)
	}
	if task.Have&sample.HaveAttr != 0 && task.ResetOnFork {
		s += ", reset on fork"
	}
	return s
}

// started is the start by the wall clock, with its date.
func started(row field.Row) string {
	h := &row.M.Sample.Host
	if h.TicksPerSecond <= 0 || h.Uptime <= 0 {
		return field.Cell("start", row)
	}
	age := h.Uptime - time.Duration(row.Task().StartTicks)*time.Second/time.Duration(h.TicksPerSecond)
	return row.M.Sample.Wall.Add(-max(0, age)).Format("2006-01-02 15:04:05")
}

// stateWords explains a state letter (proc_pid_stat(5)).
func stateWords(state byte) string {
	words := map[byte]string{'R': "running or runnable", 'S': "sleeping", 'D': "waiting for I/O, cannot be interrupted",
		'Z': "zombie: ended, not yet collected by its parent", 'T': "stopped", 't': "stopped by a debugger",
		'I': "idle kernel thread", 'X': "dead"}[state]
	if words == "" {
		return field.Clean(string(rune(state)))
	}
	return string(rune(state)) + ", " + words
}

// where explains the affinity: mask ∩ cpuset ∩ online.
func where(row field.Row, c Confinement, th *theme.Theme) string {
	and := " ∩ "
	if th.ASCII {
		and = " & "
	}
	allowed := c.Allowed.String()
	if c.Allowed.Empty() {
		allowed = field.Cell("affinity", row)
	}
	limit := c.Err
	if c.Err == "" {
		limit = c.Cpuset.String() + " set by cgroup " + field.Clean(c.Owner)
	}
	s := fmt.Sprintf("%s = its mask%scpuset (%s)%sonline %s", allowed, and, limit, and, row.M.Topology.Online)
	if row.Task().Flags&sample.FlagNoSetAffinity != 0 {
		s += "; a kernel thread that cannot be moved"
	}
	return s
}

// draw writes a fact in exactly width cells.
func (f fact) draw(width int, th *theme.Theme) string {
	label := widget.Fit(f.label, min(labelWidth, width), th.Ellipsis)
	return th.Dim.Render(label) + widget.Fit(f.value, width-labelWidth, th.Ellipsis)
}

// known is a figure that is there, else 0, for ordering.
func known(v float32) float32 {
	if !model.Known(v) {
		return 0
	}
	return v
}
