package detail

import (
	"fmt"

	"piton/internal/cpuset"
	"piton/internal/field"
	"piton/internal/model"
	"piton/internal/sample"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

type fact struct{ label, value string }

const labelWidth = 11

const factLines = 10

// facts are the figures of the sample, identity first.
func (p *Pane) facts(row field.Row) []fact {
	task := row.Task()
	pid := fmt.Sprintf("%d, child of %d", task.TGID, task.PPID)
	if !task.IsProcess() {
		pid = fmt.Sprintf("%d, thread %d", task.TGID, task.TID)
	}
	state := stateWords(task.State)
	if task.IsProcess() && task.Threads > 1 {
		state += ", " + field.Cell("threads", row) + " threads"
	}
	return []fact{
		{"PID", pid},
		{"started", started(row) + " by " + field.Cell("user", row)},
		{"state", state},
		{"policy", policy(row)},
		{"memory", field.Cell("rss_bytes", row) + ", " + percent(field.Cell("mem_percent", row))},
		{"CPU", percent(field.Cell("cpu_percent", row)) + ", " + field.Cell("time_s", row) + " total"},
		{"core", core(row)},
		{"migrations", migrations(row)},
		{"run delay", p.runDelay(row)},
		{"switches", fmt.Sprintf("%s vol, %s invol /s", field.Cell("voluntary_per_s", row), field.Cell("involuntary_per_s", row))},
	}
}

// runDelay is the row's figure, and the thread that waited most where there are
// several; the Why pane says what for.
func (p *Pane) runDelay(row field.Row) string {
	s := percent(field.Cell("run_delay_percent", row))
	worst, ok := p.most(func(t *model.Task) float32 { return t.DelayPercent })
	if ok && len(p.reading.Threads) > 1 && row.Task().IsProcess() && worst.Rates().DelayPercent > 0 {
		s += fmt.Sprintf(", worst %.1f %%: %s (%d)", worst.Rates().DelayPercent, field.Clean(worst.Task().ID.Comm), worst.Task().TID)
	}
	if row.Rates().DelayPercent >= 1 {
		s += "; w says why"
	}
	return s
}

func percent(figure string) string {
	if missing(figure) {
		return figure
	}
	return figure + " %"
}

func missing(figure string) bool { return figure == field.None || figure == field.NoneASCII }

func migrations(row field.Row) string {
	if row.Task().Have&sample.HaveMigrations == 0 {
		return field.Cell("migrations_per_s", row)
	}
	return fmt.Sprintf("%s/s, %s total (%s)",
		field.Cell("migrations_per_s", row), field.Cell("migrations", row), field.Cell("migrations_source", row))
}

func core(row field.Row) string {
	s := field.Cell("cpu", row)
	c, ok := row.M.Topology.CPU(cpuset.CPU(row.Task().LastCPU))
	if ok && c.Node >= 0 {
		s += fmt.Sprintf(", node %d", c.Node)
	}
	if ok && c.LLCIndex >= 0 {
		s += fmt.Sprintf(", LLC %d", c.LLCIndex)
	}
	return s
}

func policy(row field.Row) string {
	task := row.Task()
	s := field.Cell("policy", row)
	if !task.Policy.RealTime() {
		s += ", nice " + field.Cell("nice", row)
	}
	s += ", PRI " + field.Cell("priority", row)
	if io := field.Cell("ioprio", row); io != "none" && !missing(io) {
		s += ", I/O " + io
	}
	if task.Have&sample.HaveAttr != 0 && task.ResetOnFork {
		s += ", reset on fork"
	}
	return s
}

// started is the wall-clock time of the start, with its date.
func started(row field.Row) string {
	if t, ok := field.StartTime(row); ok {
		return t.Format("2006-01-02 15:04:05")
	}
	return field.Cell("start", row)
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

// where explains the CPUs allowed: mask ∩ cpuset ∩ online.
func where(row field.Row, c Confinement, th *theme.Theme) string {
	and := " ∩ "
	if th.ASCII {
		and = " & "
	}
	online := c.Online
	if online.Empty() {
		online = row.M.Topology.Online
	}
	allowed := c.Allowed.And(online).String()
	switch {
	case c.Allowed.Empty():
		allowed = field.Cell("affinity", row)
	case allowed == "": // a task keeps its mask while it sleeps
		return fmt.Sprintf("none online of %s: the kernel gives it all CPUs when it next runs", c.Allowed.InWords())
	case c.Lapsed != "":
		return fmt.Sprintf("%s: %s", allowed, c.Lapsed)
	}
	limit := c.Err
	if c.Err == "" {
		limit = c.Cpuset.String() + ", set by cgroup " + field.Clean(c.Owner)
	}
	s := fmt.Sprintf("%s = its mask%scpuset (%s)%sonline %s", allowed, and, limit, and, online)
	if row.Task().Flags&sample.FlagNoSetAffinity != 0 {
		s += "; fixed by the kernel"
	}
	return s
}

func (f fact) draw(width int, th *theme.Theme) string {
	label := widget.Fit(f.label, min(labelWidth, width), th.Ellipsis)
	return th.Dim.Render(label) + widget.Fit(f.value, width-labelWidth, th.Ellipsis)
}
