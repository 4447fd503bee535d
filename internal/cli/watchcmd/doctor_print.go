package watchcmd

import (
	"fmt"

	"piton/internal/cli/exit"
	"piton/internal/cli/output"
	"piton/internal/field"
	"piton/internal/group"
)

// printText prints a table of what is, then what would be better.
func (d *doctor) printText() {
	t := output.NewTable("FEATURE", "STATE", "SOURCE", "COST")
	for _, f := range d.findings {
		t.Add(f.title, f.state, output.Dash(f.source), output.Dash(f.cost))
	}
	t.Write(d.app)
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
	var l output.Line
	count := map[string]int{}
	for _, f := range d.findings {
		count[f.state]++
		l.Start("feature").Add("id", f.id).Add("title", f.title).Add("state", f.state).
			Add("source", f.source).Add("cost", f.cost).Add("sample_ns", int64(f.took)).Add("core_share", f.share).
			Add("reason", f.reason).Add("command", f.command)
		l.Write(d.app)
	}
	l.Start("summary").Add("features", len(d.findings))
	for _, state := range []string{stateBest, stateFallback, stateMissing, stateUnknown} {
		l.Add(state, count[state])
	}
	l.Add("exit_code", exit.Done).Write(d.app)
}
