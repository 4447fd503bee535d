package coresview

import (
	"cmp"
	"fmt"
	"slices"

	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/sample"
	"piton/internal/tui/list"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// Task finds a task in the newest sample; nil when it ended, or its process's
// threads were not read.
func (v *View) Task(tid kernel.TID) *sample.Task {
	if v.m == nil {
		return nil
	}
	list := v.m.Sample.Tasks
	i, ok := slices.BinarySearchFunc(list, tid, func(t *sample.Task, id kernel.TID) int { return cmp.Compare(t.TID, id) })
	if !ok {
		return nil
	}
	return list[i]
}

// comm is a task's name, "" when it is not known.
func comm(t *sample.Task) string {
	if t == nil || t.ID == nil {
		return ""
	}
	return t.ID.Comm
}

// target names a task for the owner.
func (v *View) target(tid kernel.TID) Target {
	if t := v.Task(tid); t != nil {
		return Target{TID: tid, TGID: t.TGID, StartTicks: t.StartTicks}
	}
	return Target{TID: tid}
}

// newTasks is the list of the tasks behind a cell.
func (v *View) newTasks() *list.List[kernel.TID, model.MoveTask] {
	perS := func(t model.MoveTask) float64 { return v.table().PerS(uint64(t.Count)) }
	byCount := func(a, b model.MoveTask) int { return cmp.Compare(a.Count, b.Count) }
	return list.New(func(t model.MoveTask) kernel.TID { return t.TID }, "moves",
		list.Column[model.MoveTask]{ID: "tid", Title: "TID", Width: 7, Right: true,
			Cell: func(t model.MoveTask, th *theme.Theme, _ int) (string, theme.Style) {
				return fmt.Sprint(t.TID), th.Text
			}},
		list.Column[model.MoveTask]{ID: "name", Title: "NAME", Width: 20, Tight: 12, Rank: 1,
			Cell: func(t model.MoveTask, th *theme.Theme, _ int) (string, theme.Style) {
				if name := comm(v.Task(t.TID)); name != "" {
					return name, th.Strong
				}
				if name := v.moves.Name(t.TID); name != "" { // it has ended
					return name, th.Dim
				}
				return "ended, or not read", th.Dim
			}},
		figures("moves", "MIG", byCount, func(t model.MoveTask, _ *theme.Theme) string { return fmt.Sprint(t.Count) }),
		figures("rate", "MIG/s", byCount, func(t model.MoveTask, _ *theme.Theme) string { return rate(perS(t)) }),
		figures("share", "SHARE", byCount, func(t model.MoveTask, _ *theme.Theme) string {
			b := &v.behind
			return percent(float64(t.Count) / float64(b.of.Count(b.i, b.j)))
		}))
}

// figures is a column of figures, the largest first.
func figures[R any](id, title string, compare func(a, b R) int, text func(r R, th *theme.Theme) string) list.Column[R] {
	return list.Column[R]{ID: id, Title: title, Width: 8, Tight: 6, Rank: 2, Right: true, Desc: true, Compare: compare,
		Cell: func(r R, th *theme.Theme, _ int) (string, theme.Style) { return text(r, th), th.Text }}
}

// renderTasks lists the tasks behind a cell.
func (v *View) renderTasks(width, height int, th *theme.Theme) string {
	t, b := v.table(), v.tasksBehind()
	total := t.Count(b.i, b.j)
	var title rows.Row
	title.Add(th.Title, " "+pair(t.MoveGroups, b.i, b.j, th))
	title.Add(th.Strong, "  "+v.tasks.Position())
	title.Add(th.Text, fmt.Sprintf("  %s, %s", v.cellClass(t, b.i, b.j), lastSpan(t.Span)))
	title.Add(th.Dim, fmt.Sprintf("  %s, %s/s", widget.Plural(len(b.tasks), "task"), rate(t.PerS(uint64(total)))))
	if b.unnamed > 0 {
		title.Add(th.Warn, fmt.Sprintf("  %d migrations are too old: their tasks are forgotten", b.unnamed))
	}
	foot := []string{keys(th, width, "Enter", "show among the processes", "w", "window", "Esc", "back to the map")}
	head := []string{title.Render(th, width)}
	if len(b.tasks) == 0 {
		head = append(head, th.Dim.Render(" no task moved there in this window"))
	}
	below := v.over(v.tasks, width, th, v.ledgerOf(v.cpuOf(t.MoveGroups, b.i), th))
	return v.stack(width, height, head, v.tasks, below, foot)
}

// fill pads a list to its window, so that what stands below it does not move.
func fill(body func(int) []string) func(int) []string {
	return func(height int) []string { return fillTo(body(max(height, 0)), height) }
}

// fillTo pads lines to a height.
func fillTo(lines []string, height int) []string {
	for len(lines) < height {
		lines = append(lines, "")
	}
	return lines
}

// keys is the line that names the keys of what is shown.
func keys(th *theme.Theme, width int, pairs ...string) string {
	return " " + rows.Keys(th, pairs...).Render(th, max(width-1, 0))
}
