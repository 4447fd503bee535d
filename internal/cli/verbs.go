package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"piton/internal/action"
	"piton/internal/place"
	"piton/internal/tune"
)

// verbOptions are the flags that all tuning verbs share.
type verbOptions struct {
	apply applyOptions
	scope scopeOptions
}

func (o *verbOptions) addFlags(cmd *cobra.Command) {
	o.apply.addFlags(cmd.Flags())
	o.scope.addFlags(cmd.Flags())
}

const targetHelp = `TARGET is a PID or TID, a name, a glob, /regex/ on the name, cmd:/regex/ on the command line, user:NAME or
cgroup:PATH. It means all threads of each process; --thread means the one thread, --tree the descendants too;
thread:/regex/ means the single threads whose own names fit, in whatever process. A target that matches nothing is an error, and nothing is changed.`

type pinOptions struct {
	verbOptions
	cpu, place, within string
	mem                bool
}

func newPin(a *app) *cobra.Command {
	var o pinOptions
	cmd := &cobra.Command{
		Use:     "pin TARGET… [--cpu CPUS | --place HOW]",
		Short:   "put tasks on CPUs: given ones, or the least loaded",
		Long:    "Set the affinity of tasks, by default to the least-loaded core, and say which and why.\n" + memHelp + "\n\n" + targetHelp,
		Example: "  piton pin 3641\n  piton pin 3641 --cpu 2-3\n  piton pin 'nginx*' --place spread --within node:1\n  piton pin postgres --cpu node:1 --mem",
		GroupID: groupTune,
		Args:    needArgs(1, "a target"),
		RunE: func(cmd *cobra.Command, args []string) error {
			want, err := o.tuning(a)
			if err != nil {
				return err
			}
			want.MemoryFollows = o.mem
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
	memHelp = `With --mem the memory of the processes goes to the NUMA nodes of those CPUs, and the pages on each node before and
after are told; an undo moves as many back, though not page by page the same.`
	memFlag = "move the processes' memory to the nodes of the CPUs as well"
)

func (o *pinOptions) tuning(a *app) (action.Tuning, error) {
	switch {
	case o.cpu != "" && o.place != "":
		return action.Tuning{}, usagef("--cpu and --place exclude each other")
	case o.cpu != "" && o.within != "":
		return action.Tuning{}, usagef("--within is for choosing, and --cpu has chosen already")
	case o.cpu != "":
		set, err := a.cpus("--cpu", o.cpu)
		return action.Tuning{CPUs: set}, err
	case o.place == "":
		o.place = string(place.LeastLoaded)
	}
	strategy, err := place.ParseStrategy(strings.ToLower(o.place))
	if err != nil {
		return action.Tuning{}, usageError{err}
	}
	within, err := a.cpus("--within", o.within)
	return action.Tuning{Strategy: strategy, Within: within}, err
}

// valueVerb is a verb whose last word is a value.
func valueVerb(a *app, use, what, short, long, example string, parse func(string) (action.Tuning, error)) *cobra.Command {
	var o verbOptions
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long + "\n\n" + targetHelp, Example: example, GroupID: groupTune,
		Args:        needArgs(2, "a target and "+what),
		Annotations: map[string]string{negativeValues: "yes"},
		RunE: func(cmd *cobra.Command, args []string) error {
			last := len(args) - 1
			want, err := parse(args[last])
			if err != nil {
				return err
			}
			return runVerb(cmd, a, args[:last], want, o)
		},
	}
	o.addFlags(cmd)
	return cmd
}

func newNice(a *app) *cobra.Command {
	var session bool
	cmd := valueVerb(a, "nice TARGET… VALUE", "a nice value", "set nice values",
		`Set the nice value, -20 (first) to 19 (last), of ordinary tasks. Where autogroup is on, nice ranks tasks of one session
only; --autogroup sets the value of the targets' whole sessions instead, which ranks those.`,
		"  piton nice 3641 -5\n  piton nice user:build 10\n  piton nice --autogroup 3641 10",
		func(value string) (action.Tuning, error) {
			n, err := tune.ParseNice(value)
			if session {
				return action.Tuning{Autogroup: &n}, err
			}
			return action.Tuning{Nice: &n}, err
		})
	cmd.Flags().BoolVar(&session, "autogroup", false, "the nice value of the sessions that the targets are in")
	return cmd
}

func newPolicy(a *app) *cobra.Command {
	return valueVerb(a, "policy TARGET… POLICY[:PRIO]", "a policy", "set the scheduling policy and real-time priority",
		`Set the scheduling policy: other, batch, idle, fifo:PRIO or rr:PRIO with PRIO 1 (lowest) to 99, ext, or
deadline:RUNTIME/DEADLINE/PERIOD: RUNTIME of CPU time in each PERIOD, by DEADLINE after its start. A bare PRIO keeps
fifo or rr. Add ,reset-on-fork to keep it from children, and
,reclaim to let a deadline task also run in the time that others of its kind leave. fifo and rr on a task that is busy all the time need --yes.`,
		"  piton policy 3641 fifo:10\n  piton policy 3641 20\n  piton policy thread:/^worker/ batch\n  piton policy 3641 deadline:5ms/10ms/10ms,reset-on-fork",
		func(value string) (action.Tuning, error) {
			p, err := tune.ParsePolicy(value)
			return action.Tuning{Policy: &p}, err
		})
}

func newIONice(a *app) *cobra.Command {
	return valueVerb(a, "ionice TARGET… CLASS[:LEVEL]", "an I/O class", "set the I/O priority",
		"Set the I/O priority: real-time or best-effort with a level 0 (first) to 7 (last), idle, or none.",
		"  piton ionice 3641 best-effort:7\n  piton ionice backup idle",
		func(value string) (action.Tuning, error) {
			p, err := tune.ParseIOPrio(value)
			return action.Tuning{IOPrio: &p}, err
		})
}

// runVerb finds the targets and changes them.
func runVerb(cmd *cobra.Command, a *app, words []string, want action.Tuning, o verbOptions) error {
	if err := o.scope.check(); err != nil {
		return err
	}
	if !a.live() {
		return tune.ErrNotLive
	}
	c, err := a.choose(words, o.scope.scope())
	if err != nil {
		return err
	}
	return runTuning(cmd.Context(), a, c.targets, want, o.apply)
}
