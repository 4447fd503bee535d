package tunecmd

import (
	"cmp"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"piton/internal/action"
	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cli/app"
	"piton/internal/cli/changes"
	"piton/internal/cli/exit"
	"piton/internal/cli/flags"
	"piton/internal/place"
	"piton/internal/target"
)

// verbOptions are the flags that all tuning verbs share.
type verbOptions struct {
	apply changes.Options
	scope flags.Scope
}

func (o *verbOptions) addFlags(cmd *cobra.Command) {
	o.apply.AddFlags(cmd.Flags())
	o.scope.AddFlags(cmd.Flags())
}

type pinOptions struct {
	verbOptions
	cpu, place, within string
	mem                bool
}

func newPin(a *app.App) *cobra.Command {
	var o pinOptions
	cmd := &cobra.Command{
		Use:     "pin TARGET… [--cpu CPUS | --place HOW]",
		Short:   "pin tasks to CPUs: given ones, or the least loaded",
		Long:    "Set the affinity of tasks, by default to the least-loaded core, and print which and why.\n" + memHelp + "\n\n" + flags.TargetHelp,
		Example: "  piton pin 3641\n  piton pin 3641 --cpu 2-3\n  piton pin 'nginx*' --place spread --within node:1\n  piton pin postgres --cpu node:1 --mem",
		GroupID: app.GroupTune,
		Args:    flags.NeedArgs(1, "a target"),
		RunE: func(cmd *cobra.Command, args []string) error {
			want, err := o.tuning(a)
			if err != nil {
				return err
			}
			if o.mem {
				want.Set = append(want.Set, nearCPUs)
			}
			return runVerb(cmd, a, args, want, o.verbOptions)
		},
	}
	cmd.Flags().StringVar(&o.cpu, "cpu", "", "`CPUS` to run on: 3, 0-3, 0-14:2, node:1, llc:0, package:0, core:3, isolated, online, nohz_full, ^ takes out")
	cmd.Flags().StringVar(&o.place, "place", "", "`HOW` to choose: "+strategyWords())
	cmd.Flags().StringVar(&o.within, "within", "", "choose among these `CPUS` only")
	cmd.Flags().BoolVar(&o.mem, "mem", false, memFlag)
	o.addFlags(cmd)
	return cmd
}

// memHelp and memFlag say what --mem does, of every command that has it.
const (
	memHelp = `With --mem the memory of the processes is moved to the NUMA nodes of those CPUs.
The pages on each node before and after are printed. An undo moves as many pages back, not necessarily the same ones.`
	memFlag = "move the processes' memory to the nodes of the CPUs as well"
)

func (o *pinOptions) tuning(a *app.App) (action.Tuning, error) {
	switch {
	case o.cpu != "" && o.place != "":
		return action.Tuning{}, exit.Usagef("--cpu and --place exclude each other")
	case o.cpu != "" && o.within != "":
		return action.Tuning{}, exit.Usagef("--cpu and --within exclude each other")
	}
	return placement(a, "--cpu", o.cpu, cmp.Or(o.place, string(place.LeastLoaded)), o.within)
}

// addValueVerbs adds the commands of attributes that take targets and a value, as the
// table of attributes has them.
func addValueVerbs(all app.Commands) {
	for _, name := range attr.All() {
		if c := name.Command(); c != nil && c.Verb != "" {
			all[c.Verb] = func(a *app.App) *cobra.Command { return newValueVerb(a, name, c) }
		}
	}
}

func newValueVerb(a *app.App, name attr.Attribute, c *attr.Command) *cobra.Command {
	var o verbOptions
	session, burst := false, ""
	cmd := &cobra.Command{
		Use: c.Use, Short: c.Short, Long: c.Long + "\n\n" + flags.TargetHelp, Example: c.Example, GroupID: app.GroupTune,
		Args:        flags.NeedArgs(2, "a target and "+c.What),
		Annotations: map[string]string{flags.NegativeValues: "yes"},
		RunE: func(cmd *cobra.Command, args []string) error {
			last := len(args) - 1
			if session {
				name = attr.Autogroup
			}
			text := args[last]
			if burst != "" {
				text += " burst " + burst
			}
			value, err := name.Parse(text)
			if err != nil {
				return err
			}
			want := action.Tuning{Set: []attr.Setting{{Attribute: name, Value: value}}}
			words := args[:last]
			if name.OfGroup() {
				if words, want.Groups, err = groupsOf(words); err != nil {
					return err
				}
			}
			return runVerb(cmd, a, words, want, o)
		},
	}
	switch name {
	case attr.Quota:
		cmd.Flags().StringVar(&burst, "burst", "", "let the groups use later what they left, up to this `TIME` in a period (10ms, 0)")
	case attr.Nice:
		cmd.Flags().BoolVar(&session, "autogroup", false, "the nice value of the sessions that the targets are in")
	}
	o.addFlags(cmd)
	return cmd
}

// groupsOf tells control groups by path from other targets.
func groupsOf(words []string) (others, groups []string, err error) {
	for _, word := range words {
		group, ok := strings.CutPrefix(word, "cgroup:")
		if !ok {
			others = append(others, word)
			continue
		}
		if _, err := target.Parse(word); err != nil {
			return nil, nil, exit.With(exit.Usage, err)
		}
		groups = append(groups, path.Clean("/"+group))
	}
	return others, groups, nil
}

// runVerb finds the targets and changes them.
func runVerb(cmd *cobra.Command, a *app.App, words []string, want action.Tuning, o verbOptions) error {
	if err := o.scope.Check(); err != nil {
		return err
	}
	if !a.Live() {
		return change.ErrNotLive
	}
	c, err := a.Choose(words, o.scope.Value())
	if err != nil {
		return err
	}
	return Tune(cmd.Context(), a, c, want, o.apply)
}
