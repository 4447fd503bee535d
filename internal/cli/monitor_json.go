package cli

import (
	"bufio"
	"math"
	"time"

	"piton/internal/field"
	"piton/internal/model"
)

// jsonPrinter writes one object a line: a host, the CPUs, the tasks, an end.
type jsonPrinter struct {
	columns []*field.Column
	line    line
}

func (p *jsonPrinter) tick(w *bufio.Writer, n int, m *model.Model, rows []int32) {
	p.host(w, n, m)
	for i := range m.CPUs {
		p.cpu(w, m, i)
	}
	for _, i := range rows {
		p.line.start("task")
		for _, c := range p.columns {
			p.line.add(c.ID, c.Value(field.Row{M: m, I: int(i)}))
		}
		p.line.write(w)
	}
	p.line.start("end").add("tick", n).add("tasks", len(rows)).write(w)
}

func (p *jsonPrinter) host(w *bufio.Writer, n int, m *model.Model) {
	h := &m.Sample.Host
	p.line.start("host").add("v", Version).add("tick", n).
		add("time", m.Sample.Wall.UTC().Format(time.RFC3339Nano)).
		add("interval_s", m.Elapsed.Seconds()).
		add("host", h.Name).
		add("uptime_s", math.Round(h.Uptime.Seconds())).
		add("processes", m.Counts.Processes).
		add("threads", m.Counts.Threads).
		add("running", m.Counts.Running).
		add("kernel_threads", m.Counts.KernelThreads).
		add("load1", h.Load1).add("load5", h.Load5).add("load15", h.Load15).
		add("mem_total_bytes", h.MemTotalBytes).add("mem_used_bytes", h.MemUsedBytes).
		add("swap_total_bytes", h.SwapTotalBytes).add("swap_used_bytes", h.SwapUsedBytes).
		add("migrations_per_s", share(m.MigrationsPerS)).
		add("migrations_source", m.Sample.Migrations.String()).
		add("migrations_exact", m.Sample.Migrations.Exact()).
		add("least_loaded", numberOrNull(int(m.LeastLoaded))).write(w)
}

func (p *jsonPrinter) cpu(w *bufio.Writer, m *model.Model, i int) {
	c, s := &m.CPUs[i], &m.Sample.CPUs[i]
	p.line.start("cpu").add("cpu", int(c.ID)).
		add("busy", share(c.Busy)).
		add("user", share(c.User)).add("nice", share(c.Nice)).add("system", share(c.System)).
		add("irq", share(c.IRQ)).add("softirq", share(c.SoftIRQ)).add("steal", share(c.Steal)).
		add("guest", share(c.Guest)).add("iowait", share(c.IOWait)).
		add("migrations", orNull(s.MigrationsIn, s.HaveIn)).
		add("migrations_out", orNull(s.MigrationsOut, s.HaveOut)).
		add("in_per_s", share(c.InPerS)).add("out_per_s", share(c.OutPerS)).
		add("source", m.Sample.Migrations.String()).
		add("pinned", c.Pinned)
	rt := any(nil)
	if c.RT >= 0 {
		rt = int(m.Sample.Tasks[c.RT].TID)
	}
	p.line.add("rt_tid", rt).write(w)
}

// share rounds a figure of the model to what its counters resolve; an unknown
// one is NaN, which JSON prints as null.
func share(v float32) float64 { return math.Round(float64(v)*1e4) / 1e4 }
