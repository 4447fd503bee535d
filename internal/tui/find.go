package tui

import (
	"cmp"
	"maps"
	"slices"

	tea "charm.land/bubbletea/v2"

	"piton/internal/field"
	"piton/internal/tui/dialog"
	"piton/internal/tui/proctable"
)

// askSearch moves the cursor while one types. With a search going on, F3 finds
// the next match, as in htop.
func (m *Model) askSearch(key string) tea.Cmd {
	if m.search != "" && key == "f3" {
		if !m.table.Search(m.search, true) {
			return m.say(bad, "nothing on the list holds "+field.Clean(m.search))
		}
		return m.say(info, "searching "+field.Clean(m.search)+": F3 next, Esc ends")
	}
	p := dialog.NewPrompt("Search", "", nil)
	start, ok := m.table.Selected()
	if !ok {
		return m.say(info, "the list is empty")
	}
	return m.dialogs.Push(p, func(o dialog.Outcome) tea.Cmd {
		text, _ := o.Value.(string)
		switch {
		case o.Canceled:
			m.table.Select(start.Task().TID)
		case o.Done:
			m.search = text
		case text != "" && !m.table.SelectPrefix(text) && !m.table.Search(text, false):
			p.SetNote("nothing on the list holds this")
		}
		return nil
	})
}

// askFilter shows only matching rows while one types.
func (m *Model) askFilter() tea.Cmd {
	before, at := m.table.View().Filter, m.table.At()
	check := func(text string) error { _, err := field.ParseFilter(text); return err }
	return m.dialogs.Push(dialog.NewPrompt("Filter", before.String(), check), func(o dialog.Outcome) tea.Cmd {
		if o.Canceled {
			cmd := m.setFilter(before)
			m.table.List.Select(at)
			return cmd
		}
		text, _ := o.Value.(string)
		if f, err := field.ParseFilter(text); err == nil {
			return m.setFilter(f)
		}
		return nil
	})
}

func (m *Model) setFilter(f *field.Filter) tea.Cmd {
	if f.String() == "" {
		f = nil
	}
	return m.change(func(v *proctable.View) { v.Filter = f })
}

// askUser offers the owners that there are.
func (m *Model) askUser() tea.Cmd {
	if m.model == nil {
		return nil
	}
	count := map[string]int{}
	for i := range m.model.Sample.Tasks {
		if t := m.model.Sample.Tasks[i]; t.IsProcess() && t.ID != nil {
			count[t.ID.User]++
		}
	}
	var users []dialog.User
	for _, name := range slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	}) {
		users = append(users, dialog.User{Name: name, Processes: count[name]})
	}
	return m.dialogs.Push(dialog.NewUsers(users, m.table.View().User), dialog.Answered(func(name string) tea.Cmd {
		return m.change(func(v *proctable.View) { v.User = name })
	}))
}

func (m *Model) askSort() tea.Cmd {
	current := ""
	if c := m.table.View().Sort; c != nil {
		current = c.ID
	}
	return m.dialogs.Push(dialog.NewSort(field.Columns, current), dialog.Answered(m.sortByID))
}
