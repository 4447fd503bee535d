package tui

import (
	"cmp"
	"strings"

	tea "charm.land/bubbletea/v2"

	"piton/internal/tui/dialog"
	"piton/internal/tui/proctable"
)

// chooseLayout shows the list as a layout says; the one that is left keeps what was
// changed in it.
func (p *processView) chooseLayout(name string) tea.Cmd {
	l := p.layouts.Choose(name, p.View())
	if l == nil {
		return p.say(bad, "there is no layout "+name)
	}
	return p.change(func(v *proctable.View) { l.Apply(v) })
}

// showWaits goes to the layout of waiting, with those that wait most first.
func (p *processView) showWaits() tea.Cmd {
	return tea.Batch(p.chooseLayout("waits"), p.sortBy("run_delay_percent"))
}

// askLayout offers the layouts, and to save, rename or delete the present one.
func (p *processView) askLayout() tea.Cmd {
	all, at := p.layouts.All()
	var items []dialog.Item
	for _, l := range all {
		columns := cmp.Or(strings.Join(l.Columns, " "), "the usual columns")
		items = append(items, dialog.Item{Label: l.Name, Detail: columns, Value: func() tea.Cmd { return p.chooseLayout(l.Name) }})
	}
	name := p.layouts.Present().Name
	rename, remove := p.layouts.Fixed()
	items = append(items,
		dialog.Item{Label: "save as" + p.th.Ellipsis, Detail: "the present columns, order, arrangement and filter", Value: func() tea.Cmd {
			return p.nameLayout("Save layout as", "", func(name string) error { return p.layouts.Save(name, p.View()) })
		}},
		dialog.Item{Label: "rename" + p.th.Ellipsis, Detail: name, Off: rename, Value: func() tea.Cmd {
			return p.nameLayout("Rename layout to", name, p.layouts.Rename)
		}},
		dialog.Item{Label: "delete", Detail: name, Off: remove, Value: p.deleteLayout})
	return p.menu("Layouts", items, at)
}

// nameLayout asks for a name, and keeps what use does with it.
func (p *processView) nameLayout(label, now string, use func(string) error) tea.Cmd {
	return p.dialogs.Push(dialog.NewPrompt(label, now, nil), func(o dialog.Outcome) tea.Cmd {
		name, _ := o.Value.(string)
		if !o.Done || o.Canceled {
			return nil
		}
		if err := use(name); err != nil {
			return p.say(bad, "layout: "+err.Error())
		}
		return tea.Batch(p.say(info, "layout "+name), p.keep())
	})
}

func (p *processView) deleteLayout() tea.Cmd {
	name := p.layouts.Present().Name
	l := p.layouts.Delete()
	p.change(func(v *proctable.View) { l.Apply(v) })
	return tea.Batch(p.say(info, "layout "+name+" deleted"), p.keep())
}
