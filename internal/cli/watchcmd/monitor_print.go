package watchcmd

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"piton/internal/cli/output"
	"piton/internal/field"
	"piton/internal/model"
)

// tablePrinter writes a heading and the rows as text.
type tablePrinter struct {
	columns []*field.Column
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
func (p *tablePrinter) end(c *field.Column, start int) []byte {
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
	return fmt.Sprintf("%s %s up %s  tasks %d (%d threads, %d running)  load %.2f %.2f %.2f  mem %.1f/%.1fG  %s\n",
		m.Sample.Wall.Format(time.TimeOnly), field.Clean(h.Name), field.Uptime(h.Uptime), m.Counts.Processes, m.Counts.Threads,
		m.Counts.Running, h.Load1, h.Load5, h.Load15, output.GiB(h.MemUsedBytes), output.GiB(h.MemTotalBytes), migrations)
}

// csvPrinter writes one line a task, after one heading for the whole run.
type csvPrinter struct {
	columns []*field.Column
	record  []string
}

func (p *csvPrinter) tick(w *bufio.Writer, n int, m *model.Model, rows []int32) {
	out := csv.NewWriter(w)
	if n == 1 {
		p.record = append(p.record[:0], "tick", "time")
		for _, c := range p.columns {
			p.record = append(p.record, c.ID)
		}
		_ = out.Write(p.record)
	}
	at := output.Stamp(m.Sample.Wall)
	for _, i := range rows {
		p.record = append(p.record[:0], strconv.Itoa(n), at)
		for _, c := range p.columns {
			p.record = append(p.record, csvValue(c.Value(field.Row{M: m, I: int(i)})))
		}
		_ = out.Write(p.record)
	}
	out.Flush()
}

// csvValue is empty for no value; text is cleaned, since CSV has no escapes.
func csvValue(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return field.Clean(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			if parts[i] = csvValue(v[i]); parts[i] == "" {
				parts[i] = field.NoneASCII
			}
		}
		return strings.Join(parts, " ")
	}
	return fmt.Sprint(v)
}

// jsonPrinter writes one object a line: a host, the CPUs, the tasks, an end.
type jsonPrinter struct {
	columns []*field.Column
	line    output.Line
}

func (p *jsonPrinter) tick(w *bufio.Writer, n int, m *model.Model, rows []int32) {
	p.host(w, n, m)
	for i := range m.CPUs {
		p.cpu(w, m, i)
	}
	for _, i := range rows {
		p.line.Start("task")
		for _, c := range p.columns {
			p.line.Add(c.ID, c.Value(field.Row{M: m, I: int(i)}))
		}
		p.line.Write(w)
	}
	p.line.Start("end").Add("tick", n).Add("tasks", len(rows)).Write(w)
}

func (p *jsonPrinter) host(w *bufio.Writer, n int, m *model.Model) {
	h := &m.Sample.Host
	p.line.Start("host").Add("tick", n).Add("time", output.Stamp(m.Sample.Wall)).
		Add("interval_s", m.Elapsed.Seconds()).Add("host", h.Name).Add("uptime_s", math.Round(h.Uptime.Seconds())).
		Add("processes", m.Counts.Processes).Add("threads", m.Counts.Threads).Add("running", m.Counts.Running).
		Add("kernel_threads", m.Counts.KernelThreads).Add("load1", h.Load1).Add("load5", h.Load5).Add("load15", h.Load15).
		Add("mem_total_bytes", h.MemTotalBytes).Add("mem_used_bytes", h.MemUsedBytes).Add("swap_total_bytes", h.SwapTotalBytes).
		Add("swap_used_bytes", h.SwapUsedBytes).Add("migrations_per_s", share(m.MigrationsPerS)).
		Add("migrations_source", m.Sample.Migrations.String()).Add("migrations_exact", m.Sample.Migrations.Exact()).
		Number("least_loaded", int(m.LeastLoaded)).Write(w)
}

func (p *jsonPrinter) cpu(w *bufio.Writer, m *model.Model, i int) {
	c, s := &m.CPUs[i], &m.Sample.CPUs[i]
	p.line.Start("cpu").Add("cpu", int(c.ID)).Add("busy", share(c.Busy)).Add("user", share(c.User)).Add("nice", share(c.Nice)).
		Add("system", share(c.System)).Add("irq", share(c.IRQ)).Add("softirq", share(c.SoftIRQ)).Add("steal", share(c.Steal)).
		Add("guest", share(c.Guest)).Add("iowait", share(c.IOWait)).Known("migrations", s.MigrationsIn, s.HaveIn).
		Known("migrations_out", s.MigrationsOut, s.HaveOut).Add("in_per_s", share(c.InPerS)).Add("out_per_s", share(c.OutPerS)).
		Add("source", m.Sample.Migrations.String()).Add("pinned", c.Pinned)
	rt := any(nil)
	if c.RT >= 0 {
		rt = int(m.Sample.Tasks[c.RT].TID)
	}
	p.line.Add("rt_tid", rt).Write(w)
}

// share rounds a figure of the model to what its counters resolve; an unknown
// one is NaN, which JSON prints as null.
func share(v float32) float64 { return math.Round(float64(v)*1e4) / 1e4 }
