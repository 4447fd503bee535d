package cli

import (
	"fmt"

	"piton/internal/field"
	"piton/internal/group"
)

// printText prints a table of what is, then what would be better.
func (d *doctor) printText() {
	t := newTable("FEATURE", "STATE", "SOURCE", "COST")
	for _, f := range d.findings {
		t.add(f.title, f.state, dash(f.source), dash(f.cost))
	}
	t.write(d.app)
	for _, group := range d.groups() {
		command := group[0].command
		if command == "" {
			command = "no command helps:"
		}
		fmt.Fprintf(d.app, "\n%s\n", field.Clean(command))
		for _, f := range group {
			fmt.Fprintf(d.app, "  %s: %s\n", f.title, field.Clean(f.reason))
		}
	}
}

// groups are the findings that could be better, by the command that would do it;
// those without a command come last.
func (d *doctor) groups() [][]finding {
	var helped, helpless []finding
	for _, f := range d.findings {
		switch {
		case f.reason == "":
		case f.command == "":
			helpless = append(helpless, f)
		default:
			helped = append(helped, f)
		}
	}
	return group.By(append(helped, helpless...), func(f *finding) string { return f.command })
}

func (d *doctor) printJSON() {
	var l line
	count := map[string]int{}
	for _, f := range d.findings {
		count[f.state]++
		l.start("feature").add("v", Version).add("id", f.id).add("title", f.title).add("state", f.state).
			add("source", f.source).add("cost", f.cost).add("sample_ns", int64(f.took)).add("core_share", f.share).
			add("reason", f.reason).add("command", f.command)
		l.write(d.app)
	}
	l.start("summary").add("features", len(d.findings))
	for _, state := range []string{stateBest, stateFallback, stateMissing, stateUnknown} {
		l.add(state, count[state])
	}
	l.add("exit_code", ExitDone).write(d.app)
}
