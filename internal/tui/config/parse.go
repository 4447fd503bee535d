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

// entries are what a file may have, by name.
var entries = map[string]func(*parser, any) error{
	"columns":    (*parser).columns,
	"sort":       (*parser).sort,
	"delay":      (*parser).delay,
	"core_panel": (*parser).panel,
	"meters":     (*parser).meters,
	"theme":      (*parser).theme,
	"keys":       (*parser).keys,
	"layouts":    (*parser).layouts,
}

// parse reads a file. The error is that of a file that is no TOML.
func parse(data []byte) (tui.Saved, []string, error) {
	var all map[string]any
	if err := toml.Unmarshal(data, &all); err != nil {
		var at *toml.DecodeError
		if errors.As(err, &at) {
			line, _ := at.Position()
			return tui.Saved{}, nil, fmt.Errorf("line %d: %w", line, err)
		}
		return tui.Saved{}, nil, err
	}
	p := &parser{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		take, ok := entries[name]
		if !ok {
			p.note("unknown setting %q", name)
			continue
		}
		if err := take(p, all[name]); err != nil {
			p.note("%s: %v", name, err)
		}
	}
	return p.saved, p.notes, nil
}

func (p *parser) note(format string, args ...any) {
	p.notes = append(p.notes, fmt.Sprintf(format, args...))
}

var (
	errText = errors.New(`not a text in quotes`)
	errList = errors.New(`not a list of texts, ["a", "b"]`)
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

func (p *parser) columns(value any) error {
	ids, err := texts(value)
	for _, id := range ids {
		c, width, bad := proctable.ParseColumn(id)
		switch {
		case bad != nil:
			p.note("columns: %v", bad)
		case slices.ContainsFunc(p.saved.Columns, func(had string) bool { return had == c.ID || strings.HasPrefix(had, c.ID+":") }):
			p.note("columns: %q is there twice", id)
		default:
			p.saved.Columns = append(p.saved.Columns, proctable.ColumnText(c.ID, width))
		}
	}
	return err
}

// layouts takes each table [layouts.NAME]; one with a mistake is left out as a whole.
func (p *parser) layouts(value any) error {
	tables, ok := value.(map[string]any)
	if !ok {
		return errors.New("not tables, [layouts.NAME]")
	}
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		l, err := layout(name, tables[name])
		if err != nil {
			p.note("layouts.%s is not used: %v", name, err)
			continue
		}
		p.saved.Layouts = append(p.saved.Layouts, l)
	}
	return nil
}

func layout(name string, value any) (l proctable.Layout, err error) {
	table, ok := value.(map[string]any)
	if !ok {
		return l, errors.New("not a table, [layouts.NAME]")
	}
	if err := proctable.CheckName(name); err != nil {
		return l, err
	}
	l.Name = name
	for _, key := range slices.Sorted(maps.Keys(table)) {
		switch key {
		case "columns":
			l.Columns, err = texts(table[key])
		case "sort":
			l.Sort, err = text(table[key])
		case "view":
			l.View, err = text(table[key])
		case "filter":
			l.Filter, err = text(table[key])
		default:
			err = errors.New("unknown setting")
		}
		if err != nil {
			return l, fmt.Errorf("%s: %w", key, err)
		}
	}
	return l, l.Check()
}

func (p *parser) sort(value any) error {
	id, err := text(value)
	if err != nil {
		return err
	}
	if _, ok := field.Lookup(strings.TrimPrefix(id, "-")); !ok && id != "" {
		return fmt.Errorf("unknown column %q", id)
	}
	p.saved.Sort = id
	return nil
}

func (p *parser) delay(value any) error {
	s, err := text(value)
	if err != nil {
		return err
	}
	p.saved.Interval, err = time.ParseDuration(s)
	return err
}

func (p *parser) panel(value any) (err error) {
	p.saved.Panel, err = text(value)
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
