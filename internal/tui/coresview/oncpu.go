package coresview

import (
	"cmp"
	"fmt"
	"slices"

	"piton/internal/cpuset"
	"piton/internal/field"
	"piton/internal/model"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
)

// renderOnCPU lists the tasks last seen on a CPU, most CPU time first: what is
// known without a ledger.
func (v *View) renderOnCPU(cpu cpuset.CPU, width, height int, th *theme.Theme) []string {
	if height < 2 {
		return nil
	}
	var on []int
	for i := range v.m.Tasks {
		if used := v.m.Tasks[i].CPUPercent; cpuset.CPU(v.m.Sample.Tasks[i].LastCPU) == cpu && model.Known(used) && used > 0 {
			on = append(on, i)
		}
	}
	slices.SortFunc(on, func(a, b int) int {
		return cmp.Or(cmp.Compare(v.m.Tasks[b].CPUPercent, v.m.Tasks[a].CPUPercent), cmp.Compare(v.m.Sample.Tasks[a].TID, v.m.Sample.Tasks[b].TID))
	})
	name := max(min(width-33, 48), 8)
	var h rows.Row
	h.Left(th, th.Header, fmt.Sprintf("TASKS LAST SEEN ON CPU %d", cpu), name)
	for _, title := range []string{"PID", "CPU%", "MIG/s", "DELAY%"} {
		h.Right(th, th.Header, title, 8)
	}
	lines := []string{h.Item(th, width, false)}
	for _, i := range on[:min(len(on), height-1)] {
		row := field.Row{M: v.m, I: i, ASCII: th.ASCII}
		var r rows.Row
		r.Left(th, th.Text, comm(row.Task()), name)
		for _, id := range []string{"tid", "cpu_percent", "migrations_per_s", "run_delay_percent"} {
			r.Right(th, th.Text, field.Cell(id, row), 8)
		}
		lines = append(lines, r.Item(th, width, false))
	}
	return lines
}
