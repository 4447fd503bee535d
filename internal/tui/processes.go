package tui

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/change"
	"piton/internal/chart"
	"piton/internal/field"
	"piton/internal/kernel"
	"piton/internal/sample"
	"piton/internal/tui/detail"
	"piton/internal/tui/dialog"
	"piton/internal/tui/proctable"
	"piton/internal/tui/theme"
)

// processView is the view of the processes: the table, and below it the detail pane.
type processView struct {
	*shared
	*proctable.Table
	chooser   *chooser
	filtered  func(*field.Filter) // is told before another filter is shown
	keep      func() tea.Cmd      // has layouts kept
	layouts   *proctable.Layouts
	detail    *detail.Pane // keeps the selected task's history also while it is closed
	detailed  bool         // the pane is open
	factReads factReads
	search    string
	pinHint   pinHint
}

func newProcessView(s *shared, c *chooser, filtered func(*field.Filter), keep func() tea.Cmd) *processView {
	d := s.deps.Options
	p := &processView{shared: s, chooser: c, filtered: filtered, keep: keep, detail: detail.New(),
		layouts: proctable.NewLayouts(proctable.Layout{Columns: d.Columns, Sort: d.Sort, Filter: d.Filter}, d.Layouts)}
	v := proctable.View{Threads: d.Threads}
	p.layouts.Present().Apply(&v)
	p.Table = proctable.New(v)
	p.Order = func(id string, desc bool) {
		p.change(func(v *proctable.View) { v.Sort, _ = field.Lookup(id); v.Desc = desc })
	}
	return p
}

// Open is part of page.
func (p *processView) Open() tea.Cmd { return nil }

// Render is part of page: the table, and the pane where it is open.
func (p *processView) Render(width, height int, th *theme.Theme) string {
	pane := p.detailHeight(width, height)
	lines := p.Table.Render(width, height-pane, th)
	if row, ok := p.Process(); ok && pane > 0 {
		lines = append(lines, p.detail.Render(row, width, pane, th)...)
	}
	return strings.Join(lines, "\n")
}

// Needs adds what has to be read for the visible columns of the visible and the tagged
// rows; for every row where the order or the filter judges by it.
func (p *processView) Needs(n *sample.Needs) {
	v := p.View()
	*n = field.Needs(p.Read(), v.Filter)
	n.Threads, n.Watch = v.Threads, p.Watched()
	p.SumNeeds(n)
	if v.Sort != nil {
		v.Sort.NeedsOfAll(n)
	}
	if p.detailed {
		p.detail.Needs(n)
		n.Affinity, n.Switches, n.Migrations, n.IOPrio, n.ThreadDelay, n.ThreadAttr = true, true, true, true, true, true
	}
}

// back closes what is open: the thread list's cursor, the pane, then the filter and the
// user, the search.
func (p *processView) back() tea.Cmd {
	v := p.View()
	switch {
	case p.inThreads():
		return p.leaveThreads()
	case p.detailed:
		return p.toggleDetail()
	case v.Filter != nil || v.User != "":
		return p.change(func(v *proctable.View) { v.Filter, v.User = nil, "" })
	}
	p.search = ""
	return nil
}

// change alters what the list shows.
func (p *processView) change(f func(*proctable.View)) tea.Cmd {
	v := p.View()
	f(&v)
	p.layouts.Present().Fit(&v)
	p.filtered(v.Filter)
	p.SetView(v)
	return nil
}

// toggleThreads needs a new sample before threads can be shown.
func (p *processView) toggleThreads() tea.Cmd {
	p.change(func(v *proctable.View) { v.Threads = !v.Threads })
	return func() tea.Msg { // once the sampler knows what is needed
		p.deps.Sampler.Refresh()
		return nil
	}
}

// sortBy sorts in the column's usual direction.
func (p *processView) sortBy(id string) tea.Cmd {
	c, _ := field.Lookup(id)
	return p.change(func(v *proctable.View) { v.Sort, v.Desc = c, c.Desc })
}

// toggleColumn shows a column before the command, or hides it.
func (p *processView) toggleColumn(id string) tea.Cmd {
	ids := slices.Clone(p.layouts.Present().Shown(p.View().Threads))
	if i := slices.IndexFunc(ids, func(text string) bool { return text == id || strings.HasPrefix(text, id+":") }); i >= 0 {
		ids = slices.Delete(ids, i, i+1)
	} else if last := len(ids) - 1; last >= 0 && ids[last] == "command" {
		ids = slices.Insert(ids, last, id)
	} else {
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return p.say(bad, "the last column cannot be hidden")
	}
	p.layouts.SetColumns(ids)
	return tea.Batch(p.change(func(*proctable.View) {}), p.keep())
}

func (p *processView) tagChildren() tea.Cmd {
	n := p.TagTree()
	return p.say(info, fmt.Sprintf("tagged %d with its descendants", n))
}

func (p *processView) tagAll() tea.Cmd {
	return p.say(info, fmt.Sprintf("%d tagged; U untags all", p.TagAll()))
}

// targets are the tagged rows, or the one under the cursor, with their names. A
// thread's row means that thread; a process's row means all of its threads.
func (p *processView) targets() (targets []change.Target, subject string) {
	targets, subject = targetsOf(p.Targets())
	return targets, cmp.Or(p.Named(), subject)
}

// processes are those of the rows that an action would act on, each once: a
// signal is for a whole process, whichever of its threads are tagged.
func (p *processView) processes() (targets []change.Target, subject string) {
	var rows []field.Row
	seen := map[kernel.TID]bool{}
	for _, r := range p.Targets() {
		if pid := r.Task().TGID; !seen[pid] {
			seen[pid] = true
			rows = append(rows, processOf(r))
		}
	}
	targets, subject = targetsOf(rows)
	if n := len(rows); n > 1 {
		subject = cmp.Or(p.Named(), chart.Plural(n, "process"))
	}
	return targets, subject
}

// flowing is the process whose flows are shown beside the interrupts: the selected one.
func (p *processView) flowing() (kernel.TID, string) {
	row, ok := p.Process()
	if !ok {
		return 0, ""
	}
	t := row.Task()
	return t.TGID, t.ID.Comm
}

// askSearch moves the cursor while one types. With a search going on, F3 finds
// the next match, as in htop.
func (p *processView) askSearch(key string) tea.Cmd {
	if p.search != "" && key == "f3" {
		if !p.Search(p.search, true) {
			return p.say(bad, "no match in the list for "+field.Clean(p.search))
		}
		return p.say(info, "searching "+field.Clean(p.search)+": F3 next, Esc ends")
	}
	prompt := dialog.NewPrompt("Search", "", nil)
	start, ok := p.Selected()
	if !ok {
		return p.say(info, "the list is empty")
	}
	return p.dialogs.Push(prompt, func(o dialog.Outcome) tea.Cmd {
		text, _ := o.Value.(string)
		switch {
		case o.Canceled:
			p.Select(start.Task().TID)
		case o.Done:
			p.search = text
		case text != "" && !p.SelectPrefix(text) && !p.Search(text, false):
			prompt.SetNote("no match in the list")
		}
		return nil
	})
}

// askFilter shows only matching rows while one types.
func (p *processView) askFilter() tea.Cmd {
	before, at := p.View().Filter, p.At()
	check := func(text string) error { _, err := field.ParseFilter(text); return err }
	return p.dialogs.Push(dialog.NewPrompt("Filter", before.String(), check), func(o dialog.Outcome) tea.Cmd {
		if o.Canceled {
			cmd := p.setFilter(before)
			p.List.Select(at)
			return cmd
		}
		text, _ := o.Value.(string)
		if f, err := field.ParseFilter(text); err == nil {
			return p.setFilter(f)
		}
		return nil
	})
}

func (p *processView) setFilter(f *field.Filter) tea.Cmd {
	if f.String() == "" {
		f = nil
	}
	return p.change(func(v *proctable.View) { v.Filter = f })
}

func (p *processView) askUser() tea.Cmd {
	if p.model == nil {
		return nil
	}
	count, all := map[string]int{}, 0
	for i := range p.model.Sample.Tasks {
		if t := p.model.Sample.Tasks[i]; t.IsProcess() && t.ID != nil {
			count[t.ID.User]++
			all++
		}
	}
	item := func(label, name string, n int) dialog.Item {
		number, word, _ := strings.Cut(chart.Plural(n, "process"), " ")
		return dialog.Item{Label: label, Detail: fmt.Sprintf("%5s %s", number, word), Value: func() tea.Cmd {
			return p.change(func(v *proctable.View) { v.User = name })
		}}
	}
	items, at := []dialog.Item{item("all users", "", all)}, 0
	for _, name := range slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	}) {
		if name == p.View().User {
			at = len(items)
		}
		items = append(items, item(name, name, count[name]))
	}
	return p.menu("Show processes of", items, at)
}

func (p *processView) askSort() tea.Cmd {
	current := ""
	if c := p.View().Sort; c != nil {
		current = c.ID
	}
	return p.dialogs.Push(dialog.NewSort(field.Columns, current), dialog.Answered(p.sortBy))
}

// missing says why values of the selected row are not there.
func (p *processView) missing() []string {
	row, ok := p.Process()
	if !ok || p.view != action.Processes {
		return nil
	}
	var lines []string
	for _, c := range p.Shown() {
		if why := c.Why(row); why != "" {
			lines = append(lines, fmt.Sprintf("%s in %s of %d: %s.", field.None, c.Title, row.Task().TID, why))
		}
	}
	return lines
}
