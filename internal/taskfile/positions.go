package taskfile

import (
	"bytes"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// Position is where a key or a table's heading begins, 1-based.
type Position struct{ Line, Column int }

// Positions finds keys of a document again: "task.2" is the third [[task]],
// "task.2.nice" its nice. The decoder says where its own errors are, but keeps
// no positions for the checks that come after it.
type Positions map[string]Position

// reader goes through a document once, in linear time. The decoder's own search
// for unknown keys reads all of the document again for each.
type reader struct {
	parser unstable.Parser
	found  Positions
	counts map[string]int // of the elements of each array of tables

	offset, line, lineStart int // how far lines are counted
	tables, sysctls         int

	heading, table string // of the table: as it is written, and as in positions
}

// findPositions returns the positions of the keys, or as an *Error the first one that is
// no setting of the root or is one too many. Syntax errors are left to the decoder.
func findPositions(data []byte, root reflect.Type) (Positions, error) {
	r := reader{found: Positions{}, counts: map[string]int{}, line: 1}
	r.parser.Reset(data)
	kind := root
	for r.parser.NextExpression() {
		e := r.parser.Expression()
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			name, at, field := r.head(e, root)
			if field == nil {
				return nil, &Error{at.Line, at.Column, "there is no setting " + strconv.Quote(name)}
			}
			if r.tables++; r.tables > maxTables {
				return nil, &Error{at.Line, at.Column, fmt.Sprintf("the file has more than %d tables", maxTables)}
			}
			r.heading, r.table, kind = name, name, field
			if e.Kind == unstable.ArrayTable {
				r.table = name + "." + strconv.Itoa(r.counts[name])
				r.counts[name]++
			}
			r.found[r.table] = at
		case unstable.KeyValue:
			if err := r.keyValue(e, r.table, kind); err != nil {
				return nil, err
			}
		}
	}
	return r.found, nil
}

// keyValue reads a key in a table of this kind, and those in its value.
func (r *reader) keyValue(e *unstable.Node, table string, kind reflect.Type) error {
	name, at, field := r.head(e, kind)
	if table != "" {
		name = table + "." + name
	}
	if field == nil {
		return &Error{at.Line, at.Column, "there is no setting " + strconv.Quote(r.heading+strings.TrimPrefix(name, r.table))}
	}
	if field.Kind() == reflect.Interface {
		if r.sysctls++; r.sysctls > maxSysctls {
			return &Error{at.Line, at.Column, fmt.Sprintf("the file has more than %d kernel settings", maxSysctls)}
		}
	}
	r.found[name] = at
	return r.value(e.Value(), name, field)
}

// value reads the keys of inline tables.
func (r *reader) value(v *unstable.Node, name string, kind reflect.Type) error {
	if v.Kind != unstable.InlineTable && v.Kind != unstable.Array {
		return nil
	}
	for it := v.Children(); it.Next(); {
		var err error
		if v.Kind == unstable.InlineTable {
			err = r.keyValue(it.Node(), name, kind)
		} else {
			err = r.value(it.Node(), name, kind)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// head returns the name of a key in a table of this kind, its position, and the kind
// of what it holds, nil for a key that there is not.
func (r *reader) head(e *unstable.Node, kind reflect.Type) (string, Position, reflect.Type) {
	var parts []string
	var at Position
	for it := e.Key(); it.Next(); {
		n := it.Node()
		if at.Line == 0 {
			at = r.position(int(n.Raw.Offset))
		}
		var part string
		part, kind = fieldOf(kind, string(n.Data))
		parts = append(parts, part)
	}
	return strings.Join(parts, "."), at, kind
}

// position counts the lines up to an offset, from the last one that was asked for.
func (r *reader) position(offset int) Position {
	passed := r.parser.Raw(unstable.Range{Offset: uint32(r.offset), Length: uint32(offset - r.offset)})
	if end := bytes.LastIndexByte(passed, '\n'); end >= 0 {
		r.line += bytes.Count(passed, []byte{'\n'})
		r.lineStart = r.offset + end + 1
	}
	r.offset = offset
	return Position{r.line, offset - r.lineStart + 1}
}

// fieldOf is the key of a table as its tag has it, since the decoder takes either case,
// and the kind of what it holds, nil if there is no such key. What is no table holds what
// it is: the decoder says that it is none.
func fieldOf(table reflect.Type, key string) (string, reflect.Type) {
	for table != nil && (table.Kind() == reflect.Slice || table.Kind() == reflect.Pointer) {
		table = table.Elem()
	}
	switch {
	case table == nil:
		return key, nil
	case table.Kind() == reflect.Map:
		return key, table.Elem()
	case table.Kind() != reflect.Struct:
		return key, table
	}
	for field := range table.Fields() {
		if tag := field.Tag.Get("toml"); tag != "" && tag != "-" && tag == strings.ToLower(key) {
			return tag, field.Type
		}
	}
	return key, nil
}

// At returns the position of a key, else of the table that it would be in.
func (p Positions) At(table, key string) Position {
	if at, ok := p[table+"."+key]; ok {
		return at
	}
	if at, ok := p[table]; ok {
		return at
	}
	return Position{Line: 1}
}
