package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"piton/internal/action"
	"piton/internal/cli/exit"
	"piton/internal/cli/output"
	"piton/internal/field"
	"piton/internal/group"
	"piton/internal/record"
	"piton/internal/tui"
)

// parts are what the pages of the help have from the program's own tables, by the
// names in their markers.
var parts = map[string]func(readonly bool) string{
	"keys":       keyTables,
	"htop":       func(bool) string { return htopTable() },
	"columns":    func(bool) string { return columnTable() },
	"filter":     func(bool) string { return "```\n" + field.FilterHelp + "\n```\n" },
	"exit-codes": func(bool) string { return exitTable() },
	"lines":      func(bool) string { return lineTable() },
	"record":     func(bool) string { return recordTable() },
}

// lineTable is the types of JSON lines with their names, but for type and v, which all have.
func lineTable() string {
	var rows [][]string
	for _, s := range lineSchemas() {
		list := strings.Join(group.Each(s.Properties, func(p output.Property) string { return p.Name }), " ")
		if s.Name() == "headless.task" {
			list = "the ids of the columns, see [piton help columns](columns.md)"
		}
		rows = append(rows, []string{asCode(s.Name()), s.Help, list})
	}
	slices.SortFunc(rows, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	return markdownTable([]string{"line", "what it is", "names beside type and v"}, rows)
}

// recordTable is the columns of record files.
func recordTable() string {
	var rows [][]string
	for _, t := range record.Tables() {
		for _, c := range t.Columns {
			rows = append(rows, []string{asCode(t.Name), asCode(c.ID), c.Type, c.Unit})
		}
	}
	return markdownTable([]string{"table", "column", "type", "unit"}, rows)
}

// markdownTable sets rows under headings.
func markdownTable(headings []string, rows [][]string) string {
	var out strings.Builder
	line := func(cells []string) {
		out.WriteString("|")
		for _, c := range cells {
			out.WriteString(" " + strings.ReplaceAll(c, "|", `\|`) + " |")
		}
		out.WriteString("\n")
	}
	line(headings)
	out.WriteString(strings.Repeat("|---", len(headings)) + "|\n")
	for _, r := range rows {
		line(r)
	}
	return out.String()
}

// asCode sets a text as code.
func asCode(text string) string { return "`" + text + "`" }

// keyCode sets each key of a label as code.
func keyCode(label string) string {
	keys := strings.Fields(label)
	for i, k := range keys {
		keys[i] = asCode(k)
	}
	return strings.Join(keys, " ")
}

// keyTables are the verbs of the screen by group.
func keyTables(readonly bool) string {
	var tables []string
	for _, verbs := range group.By(tui.Specs(readonly), func(s *action.Spec) string { return s.Group }) {
		var rows [][]string
		for _, s := range verbs {
			if len(s.Keys) == 0 {
				continue
			}
			command := ""
			if s.Verb != "" {
				command = asCode("piton " + s.Verb)
			}
			rows = append(rows, []string{keyCode(s.Label), s.Help, command, asCode(s.ID)})
		}
		if rows != nil {
			tables = append(tables, "## "+verbs[0].Group+"\n\n"+markdownTable([]string{"key", "does", "command", "id"}, rows))
		}
	}
	return strings.Join(tables, "\n")
}

// htopTable is each key of htop with what it does here.
func htopTable() string {
	verbs := tui.Specs(false)
	var rows [][]string
	for i := range action.Htop {
		k := &action.Htop[i]
		here := "the same"
		if s := processVerb(verbs, k.Keys[0]); s == nil || s.ID != k.ID {
			here = k.Hint
			if s != nil {
				here += fmt.Sprintf("; here %s: %s", k.Label, s.Help)
			}
		}
		rows = append(rows, []string{keyCode(k.Label), k.Does, here})
	}
	return markdownTable([]string{"key", "in htop", "in piton"}, rows)
}

// processVerb is the verb of a key among the processes, nil without one.
func processVerb(verbs []action.Spec, key string) *action.Spec {
	for i := range verbs {
		if s := &verbs[i]; s.Works(action.Processes) && slices.Contains(s.Keys, key) {
			return s
		}
	}
	return nil
}

func columnTable() string {
	var rows [][]string
	for i := range field.Columns {
		c := &field.Columns[i]
		rows = append(rows, []string{c.Title, asCode(c.ID), c.Help})
	}
	return markdownTable([]string{"heading", "id", "meaning"}, rows)
}

func exitTable() string {
	return markdownTable([]string{"code", "meaning"}, group.Each(exit.Codes, func(e exit.Meaning) []string { return []string{strconv.Itoa(e.Code), e.Meaning} }))
}
