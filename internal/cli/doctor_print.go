package cli

import (
	"fmt"

	"piton/internal/field"
)

// printText prints a table of what is, then what would be better.
func (d *doctor) printText() error {
	t := newTable("FEATURE", "STATE", "SOURCE", "COST")
	for _, f := range d.findings {
		t.add(f.title, f.state, dash(f.source), dash(f.cost))
	}
	if err := t.write(d.app.Out); err != nil {
		return err
	}
	for _, group := range d.groups() {
		command := group[0].command
		if command == "" {
			command = "no command helps:"
		}
		if _, err := fmt.Fprintf(d.app.Out, "\n%s\n", field.Clean(command)); err != nil {
			return err
		}
		for _, f := range group {
			if _, err := fmt.Fprintf(d.app.Out, "  %s: %s\n", f.title, field.Clean(f.reason)); err != nil {
				return err
			}
		}
	}
	return nil
}

// groups are the findings that could be better, by the command that would do it;
// those without a command come last.
func (d *doctor) groups() [][]finding {
	var commands []string
	by := map[string][]finding{}
	for _, f := range d.findings {
		if f.reason == "" {
			continue
		}
		if _, seen := by[f.command]; !seen && f.command != "" {
			commands = append(commands, f.command)
		}
		by[f.command] = append(by[f.command], f)
	}
	var out [][]finding
	for _, c := range append(commands, "") {
		if len(by[c]) > 0 {
			out = append(out, by[c])
		}
	}
	return out
}

func (d *doctor) printJSON() error {
	var l line
	count := map[string]int{}
	for _, f := range d.findings {
		count[f.state]++
		l.start("feature").add("v", Version).add("id", f.id).add("title", f.title).add("state", f.state).
			add("source", f.source).add("cost", f.cost).add("sample_ns", int64(f.took)).add("core_share", f.share).
			add("reason", f.reason).add("command", f.command)
		if err := l.write(d.app.Out); err != nil {
			return err
		}
	}
	l.start("summary").add("features", len(d.findings))
	for _, state := range []string{stateBest, stateFallback, stateMissing, stateUnknown} {
		l.add(state, count[state])
	}
	return l.add("exit_code", ExitDone).write(d.app.Out)
}
