package config

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"piton/internal/tui"
	"piton/internal/tui/proctable"
)

// An edit replaces bytes [from, to) of a file.
type edit struct {
	from, to int
	text     []byte
}

// table is a table of a file: where its entries are and where more of them can be added.
type table struct {
	head    edit // its [name]
	entries map[string]edit
	end     int
}

// setting is a value to write; nil removes it.
type setting struct {
	name  string
	value any
}

// merge writes what the screen changes into a file, in the place where it is, and
// leaves every other byte as it is: a decoder and encoder would lose the comments.
func merge(old []byte, s tui.Saved) ([]byte, error) {
	tables, err := find(old)
	if err != nil {
		return nil, err
	}
	before, _, err := parse(old)
	if err != nil {
		return nil, err
	}
	delay := ""
	if s.Interval > 0 {
		delay = s.Interval.String()
	}
	w := writer{old: old, tables: tables}
	w.write("", setting{"columns", s.Columns}, setting{"sort", s.Sort}, setting{"delay", delay},
		setting{"core_panel", s.Panel}, setting{"meters", s.Meters})
	for _, l := range before.Layouts {
		if !slices.ContainsFunc(s.Layouts, func(now proctable.Layout) bool { return now.Name == l.Name }) {
			w.remove(".layouts." + l.Name)
		}
	}
	for _, l := range s.Layouts {
		if !slices.ContainsFunc(before.Layouts, func(had proctable.Layout) bool { return reflect.DeepEqual(had, l) }) {
			w.write(".layouts."+l.Name, setting{"columns", l.Columns}, setting{"sort", l.Sort}, setting{"view", l.View},
				setting{"filter", l.Filter})
		}
	}
	return w.result()
}

// writer collects the edits of a file.
type writer struct {
	old    []byte
	tables map[string]*table
	edits  []edit
	err    error
}

// write sets entries of a table, which is made at the end of the file if need be.
func (w *writer) write(name string, settings ...setting) {
	t, ok := w.tables[name]
	added := edit{}
	if !ok {
		t = &table{end: len(w.old)}
		added.text = fmt.Appendf(nil, "\n[%s]\n", name[1:])
	}
	added.from, added.to = t.end, t.end
	if t.end > 0 && w.old[t.end-1] != '\n' {
		added.text = slices.Concat([]byte("\n"), added.text)
	}
	for _, s := range settings {
		line, err := toml.Marshal(map[string]any{s.name: s.value})
		if err != nil {
			w.err = fmt.Errorf("settings: %w", err)
		}
		none := reflect.ValueOf(s.value).Len() == 0
		at, ok := t.entries[s.name]
		switch {
		case ok && none:
			w.edits = append(w.edits, edit{at.from, lineEnd(w.old, at.to), nil})
		case ok:
			w.edits = append(w.edits, edit{at.from, at.to, bytes.TrimSuffix(line, []byte("\n"))})
		case !none:
			added.text = append(added.text, line...)
		}
	}
	w.edits = append(w.edits, added)
}

// remove removes a table's name and entries; comments stay.
func (w *writer) remove(name string) {
	t, ok := w.tables[name]
	if !ok {
		w.err = fmt.Errorf("%s is no table [%s]: it has to be removed by hand", name[1:], name[1:])
		return
	}
	for _, e := range t.entries {
		w.edits = append(w.edits, edit{e.from, lineEnd(w.old, e.to), nil})
	}
	w.edits = append(w.edits, t.head)
}

// result is the file with the edits, once it can be read again.
func (w *writer) result() ([]byte, error) {
	if w.err != nil {
		return nil, w.err
	}
	slices.Reverse(w.edits) // what is added in one place stands there in its order
	slices.SortStableFunc(w.edits, func(a, b edit) int { return b.from - a.from })
	data := slices.Clone(w.old)
	for _, e := range w.edits {
		data = slices.Replace(data, e.from, e.to, e.text...)
	}
	if _, _, err := parse(data); err != nil {
		return nil, fmt.Errorf("a layout is no table [layouts.NAME], and has to be edited by hand: %w", err)
	}
	return data, nil
}

// find returns the tables of a file by their names, ".layouts.io"; "" is what stands above
// the first.
func find(data []byte) (map[string]*table, error) {
	now := &table{entries: map[string]edit{}}
	all := map[string]*table{"": now}
	var p unstable.Parser
	p.Reset(data)
	for p.NextExpression() {
		e := p.Expression()
		name := ""
		from, to := int(e.Raw.Offset), int(e.Raw.Offset+e.Raw.Length)
		for key := e.Key(); key.Next(); {
			name += "." + strings.ReplaceAll(string(key.Node().Data), ".", "\x00") // a quoted one may have dots
			if raw := key.Node().Raw; e.Kind != unstable.KeyValue {
				from, to = int(raw.Offset), int(raw.Offset+raw.Length)
			}
		}
		switch {
		case e.Kind != unstable.KeyValue:
			from = bytes.LastIndexByte(data[:from], '\n') + 1
			now = &table{head: edit{from: from, to: lineEnd(data, to)}, entries: map[string]edit{}}
			all[name] = now
		case strings.Count(name, ".") == 1:
			now.entries[name[1:]] = edit{from: from, to: to}
		}
		now.end = lineEnd(data, to)
	}
	if err := p.Error(); err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	return all, nil
}

// lineEnd is behind the line that holds from.
func lineEnd(data []byte, from int) int {
	if n := bytes.IndexByte(data[from:], '\n'); n >= 0 {
		return from + n + 1
	}
	return len(data)
}
