package rulescmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/cli/output"
	"piton/internal/kernel"
	"piton/internal/rules"
	"piton/internal/sample"
)

func newExplain(a *app.App) *cobra.Command {
	var out output.Format
	cmd := &cobra.Command{
		Use:   "explain PID [FILE]",
		Short: "say which rule applies to a process, and why",
		Long: `Say of every rule whether it applies to a process, and why or why not. Nothing is changed.
` + fileHelp + `
With -o json: verdict lines (see piton schema).`,
		Example: "  piton rules explain 3641\n  piton rules explain 3641 web.toml",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || len(args) > 2 {
				return exit.Usagef("%s takes a PID, and a file", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			pid, ok := kernel.ParseTID(args[0])
			if !ok {
				return exit.Usagef("%q is not the number of a process", args[0])
			}
			path, err := findRules(a, args[1:])
			if err != nil {
				return err
			}
			return runExplain(a, pid, path, out)
		},
	}
	out.AddFlag(cmd.Flags(), output.AsTable, output.AsJSON)
	return cmd
}

// verdict is one of a process.
type verdict struct {
	rules.Verdict
	pid kernel.TID
}

var verdictList = output.NewList("rules", "verdict", "whether a rule applies to a process",
	output.Col("pid", "", output.Int, "process", func(v verdict) any { return int(v.pid) }),
	output.Col("rule", "", output.Text, "the rule's name", func(v verdict) any { return v.Rule.Name }),
	output.Col("line", "", output.Int, "of the file", func(v verdict) any { return v.Rule.Line }),
	output.Col("matches", "", output.Bool, "the process fits all of its matchers", func(v verdict) any { return v.Matches }),
	output.Col("applies", "", output.Bool, "and no other rule is before it", func(v verdict) any { return v.Applies }),
	output.Col("why", "", output.Text, "a sentence", func(v verdict) any { return v.Why }))

func runExplain(a *app.App, pid kernel.TID, path string, out output.Format) error {
	set, err := rulesFor(a, path)
	if err != nil {
		return err
	}
	one, err := sample.NewProcesses(a.HostRoot)
	if err != nil {
		return fmt.Errorf("look at the processes: %w", err)
	}
	t, err := one.Read(pid, sample.AllParts)
	_ = one.Close() // it was read only
	if err == nil && t == nil {
		err = a.Missing(fmt.Errorf("there is no process %d", pid))
	}
	if err != nil {
		return err
	}
	verdicts, err := set.Explain(t)
	for _, v := range verdicts {
		if out.JSON() {
			verdictList.JSON(a, verdict{v, pid})
		} else {
			fmt.Fprintln(a, exit.Sentence(v.Why))
		}
	}
	if err != nil {
		return fmt.Errorf("%s %d gets no rule: %w", t.ID.Comm, pid, err)
	}
	return nil
}
