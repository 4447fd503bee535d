package cli

import (
	_ "embed"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"piton/internal/bench"
	"piton/internal/bench/runner"
	"piton/internal/change/attr"
	"piton/internal/cli/app"
	"piton/internal/cli/flags"
	"piton/internal/field"
	"piton/internal/group"
	"piton/internal/paper"
	"piton/internal/place"
	"piton/workloads"
	"piton/workloads/workload"
)

// addCompletion adds cobra's commands that write completions, under piton's words.
func addCompletion(root *cobra.Command, out io.Writer) {
	root.SetOut(out) // cobra remembers where to as of here
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() != "completion" {
			continue
		}
		cmd.Short = "write the completion of a shell"
		cmd.Long = "Write a script to standard output for the shell to complete piton's commands, flags and values."
		cmd.Example = "  source <(piton completion bash)\n  piton completion fish > ~/.config/fish/completions/piton.fish"
		flags.NeedsCommand(cmd)
		if bash, _, err := cmd.Find([]string{"bash"}); err == nil {
			bash.Long = "Write the completion of bash. It does not need the package bash-completion."
			bash.RunE = func(cmd *cobra.Command, _ []string) error {
				script := bashScript
				if bare, err := cmd.Flags().GetBool("no-descriptions"); err == nil && bare {
					script = strings.Replace(script, cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd, 1)
				}
				_, err := io.WriteString(out, script)
				return err
			}
		}
	}
}

// bashScript stands for that of cobra 1.10.2, which evaluates the words of the line, and so runs the
// command substitutions in them when TAB is pressed, inserts the common prefix of several candidates
// unescaped, and needs the package bash-completion.
//
//go:embed completion.bash
var bashScript string

// completing reports whether cobra is asked for completions.
func completing(a *app.App) bool {
	return len(a.Args) > 0 && (a.Args[0] == cobra.ShellCompRequestCmd || a.Args[0] == cobra.ShellCompNoDescRequestCmd)
}

// completionArgs joins the word to complete with the flag that takes it: cobra holds a value such
// as that of "--sort -rss" for a flag.
func completionArgs(root *cobra.Command, args []string) []string {
	last := len(args) - 1
	if last < 2 || !strings.HasPrefix(args[last], "-") {
		return args
	}
	before, flag := args[1:last-1], args[last-1]
	if len(flag) < 2 || flag[0] != '-' || slices.Contains(before, "--") {
		return args
	}
	cmd, _, err := root.Find(before)
	if err != nil || !takesNext(cmd, flag) {
		return args
	}
	return append(slices.Clone(args[:last-1]), flag+"="+args[last])
}

// addValues has the values of flags and arguments completed, of a command and all below it.
func addValues(cmd *cobra.Command) {
	register := func(f *pflag.Flag) {
		if values := flagValues(cmd, f); values != nil {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, values) // the error is of a flag that has one
		}
	}
	cmd.LocalFlags().VisitAll(register)
	if verb := argumentValues(cmd); verb != nil {
		cmd.ValidArgsFunction = verb
	}
	for _, sub := range cmd.Commands() {
		addValues(sub)
	}
}

// flagValues are the values of a flag, nil where they are not known.
func flagValues(cmd *cobra.Command, f *pflag.Flag) cobra.CompletionFunc {
	if choice, ok := f.Value.(interface{ Words() []string }); ok {
		return oneOf(choice.Words()...)
	}
	for _, name := range attr.All() {
		if c := name.Command(); c != nil && c.Flag == f.Name && c.Words != nil {
			return oneOf(c.Words...)
		}
	}
	switch f.Name {
	case "place":
		if cmd.Name() == "pin" {
			return oneOf(place.Words()...)
		}
		return placement
	case "pin":
		return oneOf(append(place.Words(), cpuWords...)...)
	case "cpu", "within", "rps", "xps":
		return listOf(',', cpuWords)
	case "columns":
		return listOf(',', columnWords("", ""))
	case "sort":
		return oneOf(append(columnWords("", ""), columnWords("-", "")...)...)
	case "filter":
		if cmd.HasParent() { // of interrupts
			return nil
		}
		return listOf(' ', columnWords("", "="))
	case "workload":
		return oneOf(workloadWords()...)
	case "rate", "metric":
		return oneOf(runner.RateWords()...)
	}
	return nil
}

// argumentValues are the words behind a command, nil where they are not known or it knows them itself.
func argumentValues(cmd *cobra.Command) cobra.CompletionFunc {
	path := strings.TrimPrefix(cmd.CommandPath(), "piton ")
	for _, name := range attr.All() {
		if c := name.Command(); c != nil && c.Verb == path && c.Words != nil {
			return after(1, oneOf(c.Words...))
		}
	}
	switch path {
	case "isolate", "include", "move", "spread", "irq default":
		return listOf(',', cpuWords)
	case "bench paper":
		return oneOf(paper.Names()...)
	case "schema":
		return oneOf(schemaWords()...)
	}
	return nil
}

// cpuWords are CPUS, or their beginnings.
var cpuWords = []string{"online", "isolated", "nohz_full", "node:", "llc:", "package:", "core:"}

func workloadWords() []string {
	return group.Each(workloads.All, func(w workload.Workload) string { return cobra.CompletionWithDesc(w.Name, w.Help) })
}

// schemaWords are the types of JSON lines.
func schemaWords() (out []string) {
	for _, s := range lineSchemas() {
		out = append(out, cobra.CompletionWithDesc(s.Kind, s.Help), cobra.CompletionWithDesc(s.Name(), s.Help))
	}
	return out
}

// columnWords are the columns' ids with their meanings.
func columnWords(before, behind string) (out []string) {
	for i := range field.Columns {
		out = append(out, cobra.CompletionWithDesc(before+field.Columns[i].ID+behind, field.Columns[i].Help))
	}
	return out
}

// oneOf completes one of the words.
func oneOf(all ...string) cobra.CompletionFunc { return listOf(0, all) }

// after completes nothing before n arguments are there.
func after(n int, values cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) < n {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return values(cmd, args, word)
	}
}

// placement completes the last part of a placement with those that can be joined with the parts before.
func placement(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	done := word[:strings.LastIndexByte(word, '+')+1]
	var fit []string
	for _, one := range bench.PlacementWords() {
		whole := one
		if strings.HasSuffix(one, ":") {
			whole += "1" // a value that all take
		}
		if _, err := bench.ParsePlacement(done + whole); err == nil {
			fit = append(fit, one)
		}
	}
	return listOf('+', fit)(cmd, args, word)
}

// listOf completes the last of a list of words that a separator joins, 0 for one word, with those
// that are not there already. What is not complete with the word, such as "node:", gets no blank
// behind it.
func listOf(separator byte, all []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		done := ""
		if at := strings.LastIndexByte(word, separator); separator != 0 && at >= 0 {
			done, word = word[:at+1], word[at+1:]
		}
		there := strings.Split(done, string(separator))
		directive := cobra.ShellCompDirectiveNoFileComp
		var out []string
		for _, one := range all {
			name, _, _ := strings.Cut(one, "\t")
			if !strings.HasPrefix(name, word) || slices.Contains(there, name) {
				continue
			}
			out = append(out, done+one)
			if strings.HasSuffix(name, ":") || strings.HasSuffix(name, "=") {
				directive |= cobra.ShellCompDirectiveNoSpace
			}
		}
		return out, directive
	}
}
