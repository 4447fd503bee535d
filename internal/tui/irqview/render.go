package irqview

import (
	"fmt"
	"strings"

	"piton/internal/chart"
	"piton/internal/field"
	"piton/internal/irq"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
)

// Render draws the list in width × height cells.
func (v *View) Render(width, height int, th *theme.Theme) string {
	if width < 1 || height < 1 {
		return ""
	}
	v.fitCPUs(width)
	head := []string{v.title(width, th)}
	if v.err == nil && v.table.Odd != nil {
		head = append(head, rows.Indented(th, th.Warn, v.table.Odd.Error(), width-1)...)
	}
	if v.err != nil {
		head = append(head, rows.Indented(th, th.Bad, v.err.Error(), width-1)...)
	}
	foot := v.foot(width, th)
	return v.Frame(width, height, head, append(v.flows.render(width, (height-len(head)-len(foot))/2, th), foot...), th)
}

func (v *View) title(width int, th *theme.Theme) string {
	var r rows.Row
	r.Add(th.Title, " Interrupts")
	switch {
	case !v.read:
		r.Add(th.Dim, "  reading")
	case v.err != nil:
		r.Add(th.Bad, "  they cannot be read")
	default:
		if at := v.Position(); at != "" {
			r.Add(th.Strong, "  "+at)
		}
		r.Add(th.Text, "  "+v.summary())
		if v.filter != "" {
			r.Add(th.Strong, "  filter "+v.filter)
		}
		if !v.cpus.Empty() {
			r.Add(th.Strong, "  only "+v.where())
		}
		if n := v.Tags(); n > 0 {
			r.Add(th.Tagged, fmt.Sprintf("  %s%d tagged", th.Tag, n))
		}
	}
	return r.Render(th, width)
}

// summary counts the lines that have a number, and adds their rates up.
func (v *View) summary() string {
	perS, managed, known := 0.0, 0, false
	for i := range v.table.Rows {
		r := &v.table.Rows[i]
		perS += r.Rate.PerS
		known = known || r.Rate.OK
		if r.Control == irq.Managed {
			managed++
		}
	}
	text := chart.Plural(len(v.table.Rows), "line")
	if managed > 0 {
		text += fmt.Sprintf(", %d managed", managed)
	}
	if known {
		text += ", " + field.Fixed(perS) + "/s"
	}
	return text
}

// foot says more of the line under the cursor.
func (v *View) foot(width int, th *theme.Theme) []string {
	named := "named too"
	if v.named {
		named = "no named"
	}
	keys := rows.Keys(th, "< >", "sort", "I", "reverse", `\`, "filter", "f", "flows", "n", named)
	if v.o.Actions {
		keys = rows.Keys(th, "Space", "tag", "a", "affinity", "o", "place", "d", "grab", "s", "spread", "r", "reset", "f", "flows", "n", named)
	}
	e, there := v.List.Selected()
	if there && len(e.Threads) > 0 {
		keys = append(keys, rows.Keys(th, "  Enter", "handler's task")...)
	}
	last := " " + keys.Render(th, width-1)
	if !there {
		why := ""
		switch {
		case !v.read || v.err != nil:
		case v.filter != "":
			why = " no IRQ matches " + v.filter
		case !v.cpus.Empty():
			why = " no IRQ goes to " + v.where() + "; Esc shows all"
		}
		return []string{th.Dim.Render(rows.Text(th, why)), last}
	}
	lines := [][2]string{{e.Name(), v.breakdown(e.Rate)}}
	lines = append(lines, v.about(e)...)
	out := make([]string, 0, len(lines)+1)
	for _, pair := range lines {
		var r rows.Row
		r.Add(th.Accent, " "+pair[0]+"  ")
		r.Add(th.Text, pair[1])
		out = append(out, r.Render(th, width))
	}
	return append(out, last)
}

// about is what there is to know of an entry besides its rates.
func (v *View) about(e entry) [][2]string {
	if e.Named != nil {
		what, fewer, _ := irq.Meaning(e.Named.Name)
		if fewer == "" {
			fewer = "it follows the tasks and interrupts of its CPU"
		}
		return [][2]string{{"what", what}, {"fewer", fewer}}
	}
	r := e.Row
	from := []string{r.Handlers()}
	add := func(is bool, format string, args ...any) {
		if is {
			from = append(from, fmt.Sprintf(format, args...))
		}
	}
	add(r.Device.Driver != "", "driver %s", r.Device.Driver)
	add(r.Device.Address != "", "%s", r.Device.Address)
	add(r.Node >= 0, "node %d", r.Node)
	add(r.Hint.OK && !r.Hint.Empty(), "its driver suggests cpu %s", r.Hint)
	add(len(r.Threads) > 0, "handled by %s", irq.Tasks(r.Threads))
	why := r.Control.Why()
	if e.Lags() {
		why = fmt.Sprintf("asked to go to %s, it goes to %s until the next interrupt; %s", r.Requested, r.Effective, why)
	}
	return [][2]string{{"from", strings.Join(from, ", ")}, {"control", why}}
}
