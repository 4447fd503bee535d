package coresview

import (
	"cmp"
	"fmt"
	"slices"

	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/sample"
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
	return v.taskOf(tid)
}

func (v *View) taskOf(tid kernel.TID) *sample.Task {
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
	if t := v.taskOf(tid); t != nil {
		return Target{TID: tid, TGID: t.TGID, StartTicks: t.StartTicks}
	}
	return Target{TID: tid}
}

// followTask keeps the cursor on its task when the order changes; at the top it
// stays on the one that moves most.
func (v *View) followTask(tasks []model.MoveTask) {
	if v.tasks.Cursor == 0 {
		v.task = 0
	}
	if i := slices.IndexFunc(tasks, func(t model.MoveTask) bool { return t.TID == v.task }); i >= 0 {
		v.tasks.Cursor = i
	}
	v.tasks.Clamp(len(tasks))
	if len(tasks) > 0 {
		v.task = tasks[v.tasks.Cursor].TID
	}
}

// renderTasks lists the tasks behind a cell.
func (v *View) renderTasks(width, height int, th *theme.Theme) string {
	t, b := v.table(), v.tasksBehind()
	v.followTask(b.tasks)
	total := t.Count(b.i, b.j)
	var title, heading rows.Row
	title.Add(th.Title, " "+pair(t.MoveGroups, b.i, b.j, th))
	title.Add(th.Text, fmt.Sprintf("  %s, %s", v.cellClass(t, b.i, b.j), lastSpan(t.Span)))
	title.Add(th.Dim, fmt.Sprintf("  %s, %s/s", widget.Plural(len(b.tasks), "task"), rate(t.PerS(uint64(total)))))
	if b.unnamed > 0 {
		title.Add(th.Warn, fmt.Sprintf("  %d migrations are too old: their tasks are forgotten", b.unnamed))
	}
	heading.Right(th, th.Header, "TID", 7)
	heading.Add(th.Text, "  ")
	heading.Left(th, th.Header, "NAME", 20)
	for _, h := range []string{"MIG", "MIG/s", "SHARE"} {
		heading.Right(th, th.Header, h, 9)
	}
	body := v.tasks.Body(len(b.tasks), func(i int, selected bool) string {
		return v.taskRow(t, b.tasks[i], total, th).Item(th, width, selected)
	})
	head := []string{title.Render(th, width), heading.Item(th, width, false)}
	foot := []string{keys(th, width, "Enter", "show among the processes", "w", "window", "Esc", "back to the map")}
	if len(b.tasks) == 0 {
		head[1] = th.Dim.Render(" no task moved there in this window")
	}
	below := v.over(body, len(b.tasks), width, th, v.ledgerOf(v.cpuOf(t.MoveGroups, b.i), th))
	return rows.Stack(width, height, head, len(b.tasks), below, foot)
}

func (v *View) taskRow(t *model.MoveTable, task model.MoveTask, total uint32, th *theme.Theme) rows.Row {
	var r rows.Row
	r.Right(th, th.Text, fmt.Sprint(task.TID), 7)
	r.Add(th.Text, "  ")
	switch name := comm(v.taskOf(task.TID)); {
	case name != "":
		r.Left(th, th.Strong, name, 20)
	case v.moves.Name(task.TID) != "": // it has ended
		r.Left(th, th.Dim, v.moves.Name(task.TID), 20)
	default:
		r.Left(th, th.Dim, "ended, or not read", 20)
	}
	r.Right(th, th.Text, fmt.Sprint(task.Count), 9)
	r.Right(th, th.Text, rate(t.PerS(uint64(task.Count))), 9)
	r.Right(th, th.Text, percent(float64(task.Count)/float64(total)), 9)
	return r
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
