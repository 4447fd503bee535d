package tui

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/field"
	"piton/internal/tui/keymap"
	"piton/internal/tui/proctable"
)

// spec says what a verb is; verb is one of the table: what it is, and what it does on
// the screen. key is the one that was pressed.
type (
	spec    = action.Spec
	handler func(m *Model, key string) tea.Cmd
	verb    struct {
		spec
		run handler
	}
	verbs []*verb
)

// Groups are the headings of the help, in its order.
var Groups []string

// table is every verb under its heading. Keys follow htop where htop has the function;
// every F-key has a twin for terminals that keep F-keys to themselves. It is set by
// init because handlers refer to functions that look verbs up in it.
var table verbs

func init() {
	for _, g := range []struct {
		title string
		verbs []verb
	}{
		{"Tune", tuneVerbs()}, {"IRQs", irqVerbs()}, {"Core panel", panelVerbs()}, {"Show", showVerbs()}, {"Detail pane", threadVerbs()}, {"Find and sort", append(findVerbs(), sortVerbs()...)},
		{"Move and tag", moveVerbs()}, {"Cores", coresVerbs()}, {"Benchmarks", benchVerbs()}, {"Journal", journalVerbs()},
		{"Views", viewVerbs()}, {"Columns", columnVerbs()}, {"piton", appVerbs()},
	} {
		Groups = append(Groups, g.title)
		for _, v := range g.verbs {
			v.Group, v.Label = g.title, keymap.Label(v.Keys)
			table = append(table, &v)
		}
	}
}

// Specs are the verbs of the screen, without those that change something in read-only mode.
func Specs(readOnly bool) []action.Spec {
	var all []action.Spec
	for _, v := range table {
		if !readOnly || !v.Mutates {
			all = append(all, v.spec)
		}
	}
	return all
}

// verbs is the table of a screen: without what it may not do, with the user's keys.
func (o *Options) verbs() verbs {
	own := verbs{}
	for _, v := range table {
		if o.ReadOnly && v.Mutates {
			continue
		}
		if keys, ok := o.Keys[v.ID]; ok {
			v = &verb{v.spec, v.run}
			v.Keys, v.Label = keys, keymap.Label(keys)
		}
		own = append(own, v)
	}
	return own
}

// CheckKeys says in a line each what of a user's keys cannot be used, and removes it:
// a verb or key that does not exist, a key that two verbs of one view would have.
func CheckKeys(keys map[string][]string) (problems []string) {
	say := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	for _, id := range slices.Sorted(maps.Keys(keys)) {
		if table.byID(id) == nil {
			say("keys: there is no action %q; piton help keys lists them", id)
			delete(keys, id)
			continue
		}
		keys[id] = slices.DeleteFunc(slices.Clone(keys[id]), func(key string) bool {
			if !keymap.Valid(key) {
				say("keys: %s: there is no key %q", id, key)
			}
			return !keymap.Valid(key)
		})
	}
	own := (&Options{Keys: keys}).verbs()
	for _, id := range slices.Sorted(maps.Keys(keys)) {
		v := own.byID(id)
		for _, key := range v.Keys {
			for _, in := range v.In {
				if other := own.forKey(key, in); other != v {
					say("keys: %s: %q is the key of %s already", id, key, other.ID)
				}
			}
		}
	}
	return problems
}

func (t verbs) byID(id string) *verb {
	if i := slices.IndexFunc(t, func(v *verb) bool { return v.ID == id }); i >= 0 {
		return t[i]
	}
	return nil
}

// forKey is the verb that a key means in a context; one of the context's own comes before
// one of all contexts.
func (t verbs) forKey(key string, in action.Context) *verb {
	var everywhere *verb
	for _, v := range t {
		switch {
		case !slices.Contains(v.Keys, key):
		case slices.Contains(v.In, in):
			return v
		case v.Works(in) && everywhere == nil:
			everywhere = v
		}
	}
	return everywhere
}

// v is a verb; keys are separated by blanks.
func v(id string, in []action.Context, keys, short, help string, run handler) verb {
	return verb{spec{ID: id, In: in, Keys: strings.Fields(keys), Short: short, Help: help}, run}
}

// of is the verb for selected rows only.
func (v verb) of() verb { return v.with(action.Selection) }

// with is the verb with a condition.
func (v verb) with(n action.Need) verb {
	v.Needs = n
	return v
}

// like names the command that does the same.
func (v verb) like(command string) verb {
	v.Verb = command
	return v
}

// changesAny is a verb that changes the system; changes is one that changes selected rows.
func (v verb) changesAny(command string) verb {
	v.Mutates = true
	return v.like(command)
}

func (v verb) changes(command string) verb { return v.changesAny(command).of() }

func plain(f func(*Model) tea.Cmd) handler {
	return func(m *Model, _ string) tea.Cmd { return f(m) }
}

func does(f func(*Model)) handler {
	return func(m *Model, _ string) tea.Cmd { f(m); return nil }
}

// lists alters what the list of processes shows.
func lists(f func(*proctable.View)) handler {
	return func(m *Model, _ string) tea.Cmd { return m.change(f) }
}

// moves does one thing while CPUs are chosen in the core panel, and another in the list
// that has the keys.
func moves(panel func(*Model), list func(lister)) handler {
	return func(m *Model, _ string) tea.Cmd {
		if m.chooser.on && panel != nil {
			panel(m)
			return nil
		}
		list(m.lister())
		return m.followThreads()
	}
}

// columnVerbs are to show or hide each column: for the palette, and for keys of the
// user's own. sortVerbs sort by each.
func columnVerbs() []verb {
	var all []verb
	for _, c := range field.Columns {
		all = append(all, v("column."+c.ID, processes, "", c.Title, "show or hide the column "+c.Title+": "+c.Help,
			func(m *Model, _ string) tea.Cmd { return m.toggleColumn(c.ID) }))
	}
	return all
}

func sortVerbs() []verb {
	var all []verb
	for _, c := range field.Columns {
		all = append(all, v("sort."+c.ID, processes, sortKeys[c.ID], "By "+c.Title, "sort by "+c.Title,
			func(m *Model, _ string) tea.Cmd { return m.sortByID(c.ID) }))
	}
	return all
}

// sortKeys are htop's, and one for migrations.
var sortKeys = map[string]string{"cpu_percent": "P", "mem_percent": "M", "time_s": "T", "pid": "N", "migrations_per_s": "B"}
