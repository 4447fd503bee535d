package watchcmd

import (
	"bufio"
	"math"

	"piton/internal/cli/output"
	"piton/internal/field"
	"piton/internal/model"
)

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
	p.line.Start("host").Add("v", output.Version).Add("tick", n).
		Add("time", output.Stamp(m.Sample.Wall)).
		Add("interval_s", m.Elapsed.Seconds()).
		Add("host", h.Name).
		Add("uptime_s", math.Round(h.Uptime.Seconds())).
		Add("processes", m.Counts.Processes).
		Add("threads", m.Counts.Threads).
		Add("running", m.Counts.Running).
		Add("kernel_threads", m.Counts.KernelThreads).
		Add("load1", h.Load1).Add("load5", h.Load5).Add("load15", h.Load15).
		Add("mem_total_bytes", h.MemTotalBytes).Add("mem_used_bytes", h.MemUsedBytes).
		Add("swap_total_bytes", h.SwapTotalBytes).Add("swap_used_bytes", h.SwapUsedBytes).
		Add("migrations_per_s", share(m.MigrationsPerS)).
		Add("migrations_source", m.Sample.Migrations.String()).
		Add("migrations_exact", m.Sample.Migrations.Exact()).
		Add("least_loaded", output.NumberOrNull(int(m.LeastLoaded))).Write(w)
}

func (p *jsonPrinter) cpu(w *bufio.Writer, m *model.Model, i int) {
	c, s := &m.CPUs[i], &m.Sample.CPUs[i]
	p.line.Start("cpu").Add("cpu", int(c.ID)).
		Add("busy", share(c.Busy)).
		Add("user", share(c.User)).Add("nice", share(c.Nice)).Add("system", share(c.System)).
		Add("irq", share(c.IRQ)).Add("softirq", share(c.SoftIRQ)).Add("steal", share(c.Steal)).
		Add("guest", share(c.Guest)).Add("iowait", share(c.IOWait)).
		Add("migrations", output.OrNull(s.MigrationsIn, s.HaveIn)).
		Add("migrations_out", output.OrNull(s.MigrationsOut, s.HaveOut)).
		Add("in_per_s", share(c.InPerS)).Add("out_per_s", share(c.OutPerS)).
		Add("source", m.Sample.Migrations.String()).
		Add("pinned", c.Pinned)
	rt := any(nil)
	if c.RT >= 0 {
		rt = int(m.Sample.Tasks[c.RT].TID)
	}
	p.line.Add("rt_tid", rt).Write(w)
}

// share rounds a figure of the model to what its counters resolve; an unknown
// one is NaN, which JSON prints as null.
func share(v float32) float64 { return math.Round(float64(v)*1e4) / 1e4 }
