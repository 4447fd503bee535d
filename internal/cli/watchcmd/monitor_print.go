package watchcmd

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"slices"
	"time"

	"piton/internal/cli/output"
	"piton/internal/field"
	"piton/internal/model"
	"piton/internal/sample"
)

// tablePrinter writes a heading and the rows as text.
type tablePrinter struct {
	columns []*field.TaskColumn
	ascii   bool
	buf     []byte
}

func (p *tablePrinter) tick(w *bufio.Writer, n int, m *model.Model, rows []int32) {
	if n > 1 {
		_ = w.WriteByte('\n')
	}
	_, _ = w.WriteString(summary(m))
	p.buf = p.buf[:0]
	for _, c := range p.columns {
		start := len(p.buf)
		p.buf = append(p.buf, c.Title...)
		p.buf = p.end(c, start)
	}
	p.flush(w)
	for _, i := range rows {
		r := field.Row{M: m, I: int(i), ASCII: p.ascii}
		for _, c := range p.columns {
			start := len(p.buf)
			p.buf = c.Append(p.buf, r)
			p.buf = p.end(c, start)
		}
		p.flush(w)
	}
}

// end pads the cell that begins at start; a column without a width is not cut.
func (p *tablePrinter) end(c *field.TaskColumn, start int) []byte {
	width := c.Width
	if width == 0 {
		width = field.Width(p.buf[start:])
	}
	return append(field.Pad(p.buf, start, width, c.Right, p.ascii), ' ')
}

func (p *tablePrinter) flush(w *bufio.Writer) {
	_, _ = w.Write(append(bytes.TrimRight(p.buf, " "), '\n'))
	p.buf = p.buf[:0]
}

// summary is the machine in a line and the CPUs in another.
func summary(m *model.Model) string {
	h := &m.Sample.Host
	word := "at least, " + m.Sample.Migrations.String()
	if m.Sample.Migrations.Exact() {
		word = "exact"
	}
	migrations := "migrations -"
	if model.Known(m.MigrationsPerS) {
		migrations = fmt.Sprintf("migrations %.1f/s (%s)", m.MigrationsPerS, word)
	}
	up, load, used, total := "-", "- - -", "-", "-"
	if h.Uptime > 0 {
		up = field.Uptime(h.Uptime)
	}
	if h.HaveLoad {
		load = fmt.Sprintf("%.2f %.2f %.2f", h.Load1, h.Load5, h.Load15)
	}
	if h.HaveMemUsed {
		used = fmt.Sprintf("%.1f", output.GiB(h.MemUsedBytes))
	}
	if h.MemTotalBytes > 0 {
		total = fmt.Sprintf("%.1fG", output.GiB(h.MemTotalBytes))
	}
	return fmt.Sprintf("%s %s up %s  tasks %d (%d threads, %d running)  load %s  mem %s/%s  %s\n",
		m.Sample.Wall.Format(time.TimeOnly), output.Dash(field.Clean(h.Name)), up, m.Counts.Processes, m.Counts.Threads,
		m.Counts.Running, load, used, total, migrations)
}

// sampled is a tick, or with i one of its CPUs or tasks.
type sampled struct {
	*model.Model
	tick int
	i    int
	rows int // tasks that are printed
}

func (s sampled) cpu() *model.CPU      { return &s.CPUs[s.i] }
func (s sampled) counted() *sample.CPU { return &s.Sample.CPUs[s.i] }
func (s sampled) host() *sample.Host   { return &s.Sample.Host }
func (s sampled) row() field.Row       { return field.Row{M: s.Model, I: s.i} }
func (s sampled) source() any          { return s.Sample.Migrations.String() }
func (s sampled) stamp() any           { return field.Stamp(s.Sample.Wall) }
func tickColumn() field.Column[sampled] {
	return output.Col("tick", "", output.Int, "number of the sample, from 1", sampled.number)
}
func (s sampled) number() any { return s.tick }

// csvLines prints a line a task.
func csvLines(columns []*field.TaskColumn) printer {
	head := []field.Column[sampled]{tickColumn(), output.Col("time", "", output.Text, "when it was taken", sampled.stamp)}
	list := output.Selection("task", append(head, taskColumns(columns)...))
	return func(w *bufio.Writer, n int, m *model.Model, rows []int32) {
		all := make([]sampled, len(rows))
		for at, i := range rows {
			all[at] = sampled{Model: m, tick: n, i: int(i)}
		}
		list.CSV(w, all, n == 1)
	}
}

// jsonLines prints an object a line.
func jsonLines(columns []*field.TaskColumn) printer {
	tasks := output.Selection("task", taskColumns(columns))
	var buf []byte
	return func(w *bufio.Writer, n int, m *model.Model, rows []int32) {
		s := sampled{Model: m, tick: n, rows: len(rows)}
		buf = hostList.Append(buf[:0], s)
		for s.i = range m.CPUs {
			buf = sampledCPUList.Append(buf, s)
		}
		for _, i := range rows {
			s.i = int(i)
			buf = tasks.Append(buf, s)
		}
		buf = endList.Append(buf, s)
		_, _ = w.Write(buf)
	}
}

// taskColumns are columns of the table that the screen has.
func taskColumns(columns []*field.TaskColumn) []field.Column[sampled] {
	out := field.OnAll(columns, sampled.row)
	for i := range out {
		out[i].Type |= output.Null | output.Chosen
	}
	return out
}

var (
	hostList = output.NewList("headless", "host", "the machine at a sample", tickColumn(),
		output.Col("time", "", output.Text, "when it was taken", func(s sampled) any { return s.stamp() }),
		output.Col("interval_s", "", output.Number, "time since the sample before", func(s sampled) any { return s.Elapsed.Seconds() }),
		output.Col("host", "", output.MaybeText, "name of the machine", func(s sampled) any { return field.NonEmpty(s.host().Name) }),
		output.Col("uptime_s", "", output.MaybeNumber, "time since boot",
			func(s sampled) any { return field.Known(math.Round(s.host().Uptime.Seconds()), s.host().Uptime > 0) }),
		output.Col("processes", "", output.Int, "processes", func(s sampled) any { return s.Counts.Processes }),
		output.Col("threads", "", output.Int, "threads of all processes", func(s sampled) any { return s.Counts.Threads }),
		output.Col("running", "", output.Int, "threads that run or are runnable", func(s sampled) any { return s.Counts.Running }),
		output.Col("kernel_threads", "", output.Int, "kernel threads", func(s sampled) any { return s.Counts.KernelThreads }),
		output.Col("load1", "", output.MaybeNumber, "load average of 1 minute", func(s sampled) any { return field.Known(s.host().Load1, s.host().HaveLoad) }),
		output.Col("load5", "", output.MaybeNumber, "of 5 minutes", func(s sampled) any { return field.Known(s.host().Load5, s.host().HaveLoad) }),
		output.Col("load15", "", output.MaybeNumber, "of 15 minutes", func(s sampled) any { return field.Known(s.host().Load15, s.host().HaveLoad) }),
		output.Col("mem_total_bytes", "", output.MaybeInt, "memory",
			func(s sampled) any { return field.Known(s.host().MemTotalBytes, s.host().MemTotalBytes > 0) }),
		output.Col("mem_used_bytes", "", output.MaybeInt, "memory in use",
			func(s sampled) any { return field.Known(s.host().MemUsedBytes, s.host().HaveMemUsed) }),
		output.Col("swap_total_bytes", "", output.MaybeInt, "swap", func(s sampled) any { return field.Known(s.host().SwapTotalBytes, s.host().HaveSwap) }),
		output.Col("swap_used_bytes", "", output.MaybeInt, "swap in use",
			func(s sampled) any { return field.Known(s.host().SwapUsedBytes, s.host().HaveSwapUsed) }),
		output.Col("migrations_per_s", "", output.MaybeNumber, "migrations a second", func(s sampled) any { return field.Rounded(s.MigrationsPerS) }),
		output.Col("migrations_source", "", output.Text, "where migrations come from: ebpf and sched are exact, perf and sampled are lower bounds",
			func(s sampled) any { return s.source() }),
		output.Col("migrations_exact", "", output.Bool, "none is missing", func(s sampled) any { return s.Sample.Migrations.Exact() }),
		output.Col("least_loaded", "", output.MaybeInt, "the least-loaded CPU",
			func(s sampled) any { return field.NonNegative(int(s.LeastLoaded)) }))
	cpuColumns     = field.OnAll(field.All(field.CPUColumns), sampled.cpu)
	sampledCPUList = output.NewList("headless", "cpu", "a CPU at a sample", slices.Concat(cpuColumns[:10], []field.Column[sampled]{
		output.Col("migrations", "", output.MaybeInt, "tasks that came to it since piton started",
			func(s sampled) any { return field.Known(s.counted().MigrationsIn, s.counted().HaveIn) }),
		output.Col("migrations_out", "", output.MaybeInt, "tasks that left it since piton started",
			func(s sampled) any { return field.Known(s.counted().MigrationsOut, s.counted().HaveOut) }),
	}, cpuColumns[10:12], []field.Column[sampled]{
		output.Col("source", "", output.Text, "where migrations come from", func(s sampled) any { return s.source() }),
	}, cpuColumns[12:], []field.Column[sampled]{
		output.Col("rt_tid", "", output.MaybeInt, "the busiest real-time task", func(s sampled) any {
			if s.cpu().RT < 0 {
				return nil
			}
			return int(s.Sample.Tasks[s.cpu().RT].TID)
		}),
	})...)
	_ = output.NewList("headless", "task", "a process or thread at a sample, with the columns that --columns chooses",
		taskColumns(field.All(field.Columns))...)
	endList = output.NewList("headless", "end", "the end of a sample", tickColumn(),
		output.Col("tasks", "", output.Int, "tasks that were printed", func(s sampled) any { return s.rows }))
)
