package rulescmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/cli/output"
	"piton/internal/field"
	"piton/internal/rules"
	"piton/internal/sample"
)

func newCheck(a *app.App) *cobra.Command {
	var out output.Format
	cmd := &cobra.Command{
		Use:   "check [FILE]",
		Short: "check a rules file, and show which processes match now",
		Long: `Check a rules file and show which rule each running process has. Nothing is changed.
A mistake is reported with its line and column. Processes that two rules of the same priority match get none,
and the exit code is 3.
` + fileHelp + `
With -o json: match, conflict and idle lines (see piton schema).`,
		Example: "  piton rules check\n  piton rules check web.toml -o json",
		Args:    oneFile,
		RunE: func(_ *cobra.Command, args []string) error {
			path, err := findRules(a, args)
			if err != nil {
				return err
			}
			return runCheck(a, path, out)
		},
	}
	out.AddFlag(cmd.Flags(), output.AsTable, output.AsJSON, output.AsCSV)
	return cmd
}

var (
	matchList = output.NewList("rules", "match", "a process with its rule",
		output.Col("pid", ">PID", output.Int, "process", func(m rules.Match) any { return int(m.Task.TID) }),
		output.Col("comm", "COMM", output.Text, "its name", func(m rules.Match) any { return m.Task.ID.Comm }),
		output.Col("rule", "RULE", output.Text, "the rule's name", func(m rules.Match) any { return m.Rule.Name }),
		output.Col("line", ">LINE", output.Int, "of the file", func(m rules.Match) any { return m.Rule.Line }),
		output.Col("when", "WHEN", output.MaybeText, "the trigger, null: as the process starts",
			func(m rules.Match) any { return field.NonEmpty(when(m.Rule)) }),
		output.Col("place", "PLACE", output.MaybeText, "a strategy, or auto: CPUs are found by trying; null: CPUs are stated, or left alone",
			func(m rules.Match) any { return field.NonEmpty(m.Rule.Place) }),
		output.Col("follow", "FOLLOW", output.MaybeText, "a policy of piton irq follow, null: packets are left alone",
			func(m rules.Match) any { return field.NonEmpty(m.Rule.Follow) }))
	conflictList = output.NewList("rules", "conflict", "a process without a rule, because two of the same priority match it",
		output.Col("pid", "", output.Int, "process", func(r rules.Refusal) any { return int(r.Task.TID) }),
		output.Col("comm", "", output.Text, "its name", func(r rules.Refusal) any { return r.Task.ID.Comm }),
		output.Col("rules", "", output.Texts, "the names of the two rules", func(r rules.Refusal) any { return field.Values([]string{r.A.Name, r.B.Name}) }),
		output.Col("error", "", output.Text, "a sentence", func(r rules.Refusal) any { return r.Error() }))
	idleList = output.NewList("rules", "idle", "a rule that applies to no process now",
		output.Col("rule", "", output.Text, "its name", func(r *rules.Rule) any { return r.Name }),
		output.Col("line", "", output.Int, "of the file", func(r *rules.Rule) any { return r.Line }))
)

func when(r *rules.Rule) string {
	if r.Trigger == nil {
		return ""
	}
	return r.Trigger.String()
}

func runCheck(a *app.App, path string, out output.Format) error {
	set, err := rulesFor(a, path)
	if err != nil {
		return err
	}
	all, err := a.SampleOnce(sample.Needs{Identity: true, Exe: true, BothUsers: true}, sample.EBPFMany)
	if err != nil {
		return err
	}
	report := set.Check(all.Tasks)
	if len(report.Matches) > 0 || out.Value != output.AsTable {
		matchList.Write(a, report.Matches, out)
	}
	for _, r := range report.Refused {
		if out.JSON() {
			conflictList.JSON(a, r)
		} else {
			a.Warn("%s %d: %v", r.Task.ID.Comm, r.Task.TID, r.Conflict)
		}
	}
	for _, r := range report.Idle {
		if out.JSON() {
			idleList.JSON(a, r)
		} else {
			a.Warn("%s (line %d) applies to no process now", r.Title(), r.Line)
		}
	}
	if n := len(report.Refused); n > 0 {
		return exit.With(exit.Some, fmt.Errorf("two rules match each of %d processes", n))
	}
	return nil
}
