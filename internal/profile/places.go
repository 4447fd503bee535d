package profile

import (
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// place is where a key or a table's heading begins, 1-based.
type place struct{ line, column int }

// places finds keys of a document again: "task.2" is the third [[task]],
// "task.2.nice" its nice. The decoder says where its own errors are, but keeps
// no places for the checks that come after it.
type places map[string]place

// findPlaces reads a document that was decoded without an error.
func findPlaces(data []byte) places {
	found, counts := places{}, map[string]int{}
	var p unstable.Parser
	p.Reset(data)
	table := ""
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind != unstable.KeyValue && e.Kind != unstable.Table && e.Kind != unstable.ArrayTable {
			continue
		}
		name, at := headOf(&p, e)
		switch e.Kind {
		case unstable.Table:
			table = name
			found[table] = at
		case unstable.ArrayTable:
			table = name + "." + strconv.Itoa(counts[name])
			counts[name]++
			found[table] = at
		case unstable.KeyValue:
			if table != "" {
				name = table + "." + name
			}
			found[name] = at
		}
	}
	return found
}

func headOf(p *unstable.Parser, e *unstable.Node) (string, place) {
	var parts []string
	var at place
	for it := e.Key(); it.Next(); {
		n := it.Node()
		if at.line == 0 {
			start := p.Shape(n.Raw).Start
			at = place{start.Line, start.Column}
		}
		parts = append(parts, string(n.Data))
	}
	return strings.Join(parts, "."), at
}

// of returns the place of a key, else of the table that it would be in.
func (p places) of(table, key string) place {
	if at, ok := p[table+"."+key]; ok {
		return at
	}
	if at, ok := p[table]; ok {
		return at
	}
	return place{line: 1}
}
