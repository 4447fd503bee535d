package detail

import (
	"cmp"
	"fmt"

	"piton/internal/field"
	"piton/internal/taskfacts"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// demandLines is how many lines the facts read on demand take without sockets.
const demandLines = 6

// mostSockets is how many sockets the pane makes room for.
const mostSockets = 6

func (p *Pane) demandHeight() int {
	lines := demandLines + min(len(p.facted.Sockets.Value), mostSockets)
	if p.reading.Where != "" {
		lines += 2
	}
	return lines
}

// demanded draws the facts that were read on demand, or why they are not known.
func (p *Pane) demanded(row field.Row, width, height int, th *theme.Theme) []string {
	f := &p.facted
	if p.noRoom = height < 1; p.noRoom {
		return nil
	}
	if f.PID != p.reading.PID || f.PID == 0 {
		return []string{th.Dim.Render(widget.Fit("reading files and sockets"+th.Ellipsis, width, th.Ellipsis))}
	}
	line := func(label, value, why string) string {
		if why != "" {
			value = th.None + " " + why
		}
		return fact{label, string(field.AppendClean(nil, value, th.ASCII))}.draw(width, th)
	}
	io := f.IO.Value
	var lines []string
	if p.reading.Where != "" {
		lines = append(lines, line("competes", p.reading.Where, ""), line("", p.reading.Rule, ""))
	}
	lines = append(lines,
		line("exe", f.Exe.Value, f.Exe.Why),
		line("cwd", f.Cwd.Value, f.Cwd.Why),
		line("I/O", fmt.Sprintf("read %s, written %s (disk %s, %s)", field.Bytes(io.Read), field.Bytes(io.Written),
			field.Bytes(io.DiskRead), field.Bytes(io.DiskWritten)), f.IO.Why),
		line("files", fmt.Sprintf("%d open; l lists them", len(f.Files.Value)), f.Files.Why),
		line("received", cmp.Or(field.Received(&p.flows, row.M.Topology), th.None), p.noFlows),
		line("sockets", f.SocketsLine(), f.Sockets.Why))
	lines = lines[:min(len(lines), height)]
	for _, s := range f.SocketsByUse() {
		if len(lines) < height {
			lines = append(lines, drawSocket(s, width, th))
		}
	}
	return lines
}

func drawSocket(s taskfacts.Socket, width int, th *theme.Theme) string {
	cpu := ""
	if s.IncomingCPU >= 0 {
		cpu = fmt.Sprintf("in on cpu %d", s.IncomingCPU)
	}
	text := string(field.AppendClean(nil, fmt.Sprintf("  %d %s", s.FD, s), th.ASCII))
	room := max(width-widget.Width(cpu)-1, 0)
	return widget.Fit(text, room, th.Ellipsis) + " " + th.Accent.Render(cpu)
}
