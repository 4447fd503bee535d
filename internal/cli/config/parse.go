package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"piton/internal/field"
	"piton/internal/tui"
	"piton/internal/tui/meters"
	"piton/internal/tui/proctable"
)

// parser takes the entries of a file one by one, so that a wrong one leaves the
// others as they are.
type parser struct {
	saved tui.Saved
	notes []string
}

// parse reads a file. The error is that of a file that is no TOML.
func parse(data []byte) (tui.Saved, []string, error) {
	var all map[string]any
	if err := toml.Unmarshal(data, &all); err != nil {
		if at, ok := errors.AsType[*toml.DecodeError](err); ok {
			line, _ := at.Position()
			return tui.Saved{}, nil, fmt.Errorf("line %d: %w", line, err)
		}
		return tui.Saved{}, nil, err
	}
	p := &parser{}
	p.each("", all, map[string]func(any) error{
		"columns":    p.columns("", &p.saved.Columns),
		"sort":       order(&p.saved.Sort),
		"delay":      p.delay,
		"core_panel": into(&p.saved.Panel, nil),
		"meters":     p.meters,
		"theme":      p.theme,
		"keys":       p.keys,
		"layouts":    p.layouts,
	})
	return p.saved, p.notes, nil
}

// each takes the entries of a table, whose name in notes is where.
func (p *parser) each(where string, table map[string]any, entries map[string]func(any) error) {
	for _, name := range slices.Sorted(maps.Keys(table)) {
		take, ok := entries[name]
		if !ok {
			p.note("%sunknown setting %q", where, name)
		} else if err := take(table[name]); err != nil {
			p.note("%s%s: %v", where, name, err)
		}
	}
}

func (p *parser) note(format string, args ...any) {
	p.notes = append(p.notes, fmt.Sprintf(format, args...))
}

var (
	errText = errors.New(`not a quoted string`)
	errList = errors.New(`not a list of strings, ["a", "b"]`)
)

func text(value any) (string, error) {
	s, ok := value.(string)
	if !ok {
		return "", errText
	}
	return s, nil
}

func texts(value any) ([]string, error) {
	list, ok := value.([]any)
	if !ok {
		return nil, errList
	}
	var out []string
	for _, v := range list {
		s, ok := v.(string)
		if !ok {
			return nil, errList
		}
		out = append(out, s)
	}
	return out, nil
}

// into takes a text that check, which may be nil, finds nothing wrong with.
func into(to *string, check func(string) error) func(any) error {
	return func(value any) error {
		s, err := text(value)
		if err == nil && check != nil {
			err = check(s)
		}
		if err == nil {
			*to = s
		}
		return err
	}
}

func order(to *string) func(any) error {
	return into(to, func(s string) error {
		if id := strings.TrimPrefix(s, "-"); id != "" {
			if _, ok := field.Lookup(id); !ok {
				return fmt.Errorf("unknown column %q", id)
			}
		}
		return nil
	})
}

// columns takes those that there are, each once.
func (p *parser) columns(where string, to *[]string) func(any) error {
	return func(value any) error {
		names, err := texts(value)
		seen := map[string]bool{}
		for _, name := range names {
			switch c, width, bad := proctable.ParseColumn(name); {
			case bad != nil:
				p.note("%scolumns: %v", where, bad)
			case seen[c.ID]:
				p.note("%scolumns: %q is listed twice", where, name)
			default:
				seen[c.ID] = true
				*to = append(*to, proctable.ColumnText(c.ID, width))
			}
		}
		return err
	}
}

// layouts takes each table [layouts.NAME].
func (p *parser) layouts(value any) error {
	tables, ok := value.(map[string]any)
	if !ok {
		return errors.New("not tables, [layouts.NAME]")
	}
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		table, ok := tables[name].(map[string]any)
		if !ok {
			p.note("layouts.%s: not a table, [layouts.NAME]", name)
		} else if err := proctable.CheckName(name); err != nil {
			p.note("layouts.%s: %v", name, err)
		} else {
			p.layout(name, table)
		}
	}
	return nil
}

func (p *parser) layout(name string, table map[string]any) {
	l, where := proctable.Layout{Name: name}, "layouts."+name+": "
	p.each(where, table, map[string]func(any) error{
		"columns": p.columns(where, &l.Columns),
		"sort":    order(&l.Sort),
		"view": into(&l.View, func(s string) error {
			if !slices.Contains(proctable.TreeNames[:], s) {
				return fmt.Errorf("%q is none of %s", s, strings.Join(proctable.TreeNames[:], ", "))
			}
			return nil
		}),
		"filter": into(&l.Filter, func(s string) error { _, err := field.ParseFilter(s); return err }),
	})
	p.saved.Layouts = append(p.saved.Layouts, l)
}

func (p *parser) delay(value any) error {
	s, err := text(value)
	if err != nil {
		return err
	}
	p.saved.Interval, err = time.ParseDuration(s)
	return err
}

func (p *parser) meters(value any) error {
	ids, err := texts(value)
	for _, id := range ids {
		if len(meters.Chosen([]string{id})) == 0 {
			p.note("meters: unknown meter %q", id)
			continue
		}
		p.saved.Meters = append(p.saved.Meters, id)
	}
	return err
}

// theme takes a name and colours.
func (p *parser) theme(value any) error {
	table, ok := value.(map[string]any)
	if !ok {
		return errors.New("not a table, [theme]")
	}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		s, err := text(table[name])
		switch {
		case err != nil:
			err = fmt.Errorf("%s: %w", name, err)
		case name == "name":
			err = p.saved.Theme.SetName(s)
		default:
			err = p.saved.Theme.SetColor(name, s)
		}
		if err != nil {
			p.note("theme: %v", err)
		}
	}
	return nil
}

// keys takes the keys of actions. An action's name has dots, which TOML takes for
// tables unless it is quoted: both are read.
func (p *parser) keys(value any) error {
	table, ok := value.(map[string]any)
	if !ok {
		return errors.New("not a table, [keys]")
	}
	p.saved.Keys = map[string][]string{}
	p.keyTable("", table)
	return nil
}

func (p *parser) keyTable(prefix string, table map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(table)) {
		id := strings.TrimPrefix(prefix+"."+name, ".")
		switch value := table[name].(type) {
		case map[string]any:
			p.keyTable(id, value)
		case string:
			p.saved.Keys[id] = []string{value}
		default:
			keys, err := texts(value)
			if err != nil {
				p.note("keys: %s: %v", id, err)
				continue
			}
			p.saved.Keys[id] = keys
		}
	}
}
