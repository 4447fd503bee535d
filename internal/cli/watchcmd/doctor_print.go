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
	featureList.Table(d.findings).Write(d.app)
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

func (d *doctor) count(state string) any {
	n := 0
	for _, f := range d.findings {
		if f.state == state {
			n++
		}
	}
	return n
}

func stateColumn(state string) field.Column[*doctor] {
	return output.Col(state, "", output.Int, "features in this state", func(d *doctor) any { return d.count(state) })
}

var (
	featureList = output.NewList("doctor", "feature", "a feature, and where its figures come from here",
		output.Col("id", "", output.Text, "its name for programs", func(f finding) any { return f.id }),
		output.Col("title", "FEATURE", output.Text, "its name for people", func(f finding) any { return f.title }),
		output.Col("state", "STATE", output.Text, "best, fallback, missing or unknown", func(f finding) any { return f.state }),
		output.Col("source", "SOURCE", output.Text, "where its figures come from", func(f finding) any { return f.source }),
		output.Col("cost", "COST", output.Text, "what that costs", func(f finding) any { return f.cost }),
		output.Col("sample_ns", "", output.Int, "time that a sample takes for it", func(f finding) any { return int64(f.took) }),
		output.Col("core_share", "", output.Number, "share of a core that runs in the kernel for it", func(f finding) any { return f.share }),
		output.Col("reason", "", output.Text, "why it is not better", func(f finding) any { return f.reason }),
		output.Col("command", "", output.Text, "the command that would make it better", func(f finding) any { return f.command }))
	doctorSummaryList = output.NewList("doctor", "summary", "the number of features by state",
		output.Col("features", "", output.Int, "all of them", func(d *doctor) any { return len(d.findings) }),
		stateColumn(stateBest), stateColumn(stateFallback), stateColumn(stateMissing), stateColumn(stateUnknown),
		output.Col("exit_code", "", output.Int, "of the run", func(*doctor) any { return exit.Done }))
)
