package config

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"piton/internal/tui"
)

// An edit replaces bytes [from, to) of a file.
type edit struct {
	from, to int
	text     []byte
}

// merge writes what the setup screen changes into a file, in the place where it is, and
// leaves every other byte as it is: a decoder and encoder would lose the comments.
func merge(old []byte, s tui.Saved) ([]byte, error) {
	found, end, err := find(old)
	if err != nil {
		return nil, err
	}
	delay := ""
	if s.Interval > 0 {
		delay = s.Interval.String()
	}
	var edits []edit
	added := edit{from: end, to: end}
	for _, entry := range []struct {
		name  string
		value any
		none  bool
	}{
		{"columns", s.Columns, len(s.Columns) == 0}, {"sort", s.Sort, s.Sort == ""},
		{"delay", delay, delay == ""}, {"core_panel", s.Panel, s.Panel == ""},
		{"meters", s.Meters, len(s.Meters) == 0},
	} {
		line, err := toml.Marshal(map[string]any{entry.name: entry.value})
		if err != nil {
			return nil, fmt.Errorf("settings: %w", err)
		}
		at, ok := found[entry.name]
		switch {
		case ok && entry.none:
			edits = append(edits, edit{at.from, lineEnd(old, at.to), nil})
		case ok:
			edits = append(edits, edit{at.from, at.to, bytes.TrimSuffix(line, []byte("\n"))})
		case !entry.none:
			added.text = append(added.text, line...)
		}
	}
	if end > 0 && old[end-1] != '\n' {
		added.text = slices.Concat([]byte("\n"), added.text)
	}
	edits = append(edits, added)
	slices.SortStableFunc(edits, func(a, b edit) int { return b.from - a.from })
	data := slices.Clone(old)
	for _, e := range edits {
		data = slices.Replace(data, e.from, e.to, e.text...)
	}
	return data, nil
}

// find returns where the entries above the first table are, and where more of them
// can be added.
func find(data []byte) (at map[string]edit, end int, err error) {
	at = map[string]edit{}
	var p unstable.Parser
	p.Reset(data)
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind != unstable.KeyValue {
			break
		}
		from, to := int(e.Raw.Offset), int(e.Raw.Offset+e.Raw.Length)
		end = lineEnd(data, to)
		if key := e.Key(); key.Next() && key.IsLast() {
			at[string(key.Node().Data)] = edit{from: from, to: to}
		}
	}
	if err := p.Error(); err != nil {
		return nil, 0, fmt.Errorf("settings: %w", err)
	}
	return at, end, nil
}

// lineEnd is behind the line that holds from.
func lineEnd(data []byte, from int) int {
	if n := bytes.IndexByte(data[from:], '\n'); n >= 0 {
		return from + n + 1
	}
	return len(data)
}
