package tunecmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/guard"
	"piton/internal/cli/app"
	"piton/internal/cli/changes"
	"piton/internal/cli/exit"
	"piton/internal/cli/flags"
	"piton/internal/cli/output"
	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/rescue"
)

type rescueOptions struct {
	output output.Format
	delay  flags.Interval
	list   bool
	demote string
	yes    bool
}

func newRescue(a *app.App) *cobra.Command {
	o := rescueOptions{delay: flags.Interval{Duration: time.Second, Min: 50 * time.Millisecond, Max: time.Minute}}
	cmd := &cobra.Command{
		Use:   "rescue [--list | --demote all|PID…]",
		Short: "demote real-time tasks that take the CPUs",
		Long: `Show the FIFO, RR and DEADLINE tasks that take the CPUs, and demote them to OTHER: those named, or after a question.
It runs before every other task (DEADLINE, or FIFO 99 where that is refused), locked in memory, to work on a machine
that does not respond.
The change is recorded after it is made, not before, as the threads that write to the disk may be starved too.
piton undo undoes it. all means every user task shown; a kernel thread is demoted by its number with --yes.
With -o json: an rt_task line each, a rescue line, a change line for each that is demoted, and a summary (see piton schema).`,
		Example: "  piton rescue\n  piton rescue --list -o json\n  piton rescue --demote all\n  piton rescue --demote 3641 3642",
		GroupID: app.GroupTune,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 && o.demote == "" {
				return exit.Usagef("piton rescue takes no %q; --demote %s demotes it", args[0], args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if !a.Live() {
				return change.ErrNotLive
			}
			if o.list && o.demote != "" {
				return exit.Usagef("--list and --demote exclude each other")
			}
			ctx, stop := a.Interruptible(cmd.Context())
			defer stop()
			return newRescuer(a, o).run(ctx, args)
		},
	}
	o.output.AddFlag(cmd.Flags(), output.AsTable, output.AsJSON)
	cmd.Flags().BoolVar(&o.list, "list", false, "only show them")
	cmd.Flags().StringVar(&o.demote, "demote", "", "demote `all|PID...` to OTHER without asking; all means every user task shown")
	cmd.Flags().VarP(&o.delay, "delay", "d", "time over which the tasks are measured")
	cmd.Flags().BoolVar(&o.yes, "yes", false, "kernel threads as well, where they are named")
	return cmd
}

// rescuer is one run of piton rescue.
type rescuer struct {
	*app.App
	rescueOptions
	fs procfs.FS
	in *bufio.Reader
}

func newRescuer(a *app.App, o rescueOptions) *rescuer {
	return &rescuer{App: a, rescueOptions: o, fs: procfs.New("/"), in: bufio.NewReader(a.In)}
}

func (r *rescuer) run(ctx context.Context, more []string) error {
	for _, c := range guard.Overtake() {
		r.Warn("rescue is not fully protected: %s", c)
	}
	defer guard.Subside()
	tasks, err := r.look(ctx)
	if err != nil {
		return err
	}
	switch {
	case r.demote != "":
		chosen, unmatched, err := r.choose(tasks, append(strings.FieldsFunc(r.demote, isComma), more...))
		if err != nil {
			return err
		}
		return r.demoteAll(ctx, chosen, warnUnmatched(r.App, unmatched))
	case r.list || r.output.JSON() || !app.IsTerminal(r.In):
		return nil
	}
	return r.ask(ctx, tasks)
}

func isComma(c rune) bool { return c == ',' }

// look measures and prints, and returns the tasks that are shown first, in order.
func (r *rescuer) look(ctx context.Context) ([]rescue.Task, error) {
	limits, err := procfs.ReadThrottling(r.fs)
	if err != nil {
		return nil, err
	}
	tasks, err := rescue.Measure(ctx, r.fs, r.delay.Duration, kernel.Sleep)
	if err != nil {
		return nil, err
	}
	r.print(tasks, limits)
	return tasks, r.WriteErr
}

// choose finds the tasks that words mean: all, PIDs (every real-time thread of
// them) or TIDs. unmatched is about words that match nothing, such as the number of a
// task that has ended meanwhile; if none matches, that is the error.
func (r *rescuer) choose(tasks []rescue.Task, words []string) (out []rescue.Task, unmatched, err error) {
	for _, word := range words {
		n, ok := kernel.ParseTID(word)
		switch {
		case word == "all":
			out = append(out, userTasks(tasks)...)
			continue
		case !ok:
			return nil, nil, exit.Usagef("%q is neither all nor the number of a task", word)
		}
		before := len(out)
		for _, k := range tasks {
			if k.TID == n || k.PID == n {
				out = append(out, k)
			}
		}
		if len(out) == before {
			unmatched = errors.Join(unmatched, fmt.Errorf("%d is no real-time task", n))
		}
	}
	if len(out) == 0 {
		return nil, nil, unmatched
	}
	return out, unmatched, r.check(out)
}

// userTasks are the tasks that take CPU time, without kernel threads.
func userTasks(tasks []rescue.Task) []rescue.Task {
	return slices.DeleteFunc(slices.Clone(tasks), func(k rescue.Task) bool { return k.Kernel || !k.Eating() })
}

// check refuses kernel threads.
func (r *rescuer) check(tasks []rescue.Task) error {
	for _, k := range tasks {
		if k.Kernel && !r.yes {
			return fmt.Errorf("%d (%s) is a kernel thread, which the machine may need in real time; --yes demotes it anyway", k.TID, k.Comm)
		}
	}
	return nil
}

// ask offers to demote what is shown, and looks again after each answer.
func (r *rescuer) ask(ctx context.Context, tasks []rescue.Task) error {
	for {
		if !slices.ContainsFunc(tasks, rescue.Task.Eating) {
			return nil
		}
		fmt.Fprint(r, "Make which of them ordinary? Numbers of the first column, all, or nothing to end: ")
		words := strings.FieldsFunc(app.ReadLine(ctx, r.in), func(c rune) bool { return c == ',' || unicode.IsSpace(c) })
		if len(words) == 0 {
			return ctx.Err()
		}
		chosen, err := r.pick(tasks, words)
		if err == nil {
			err = r.demoteAll(ctx, chosen, nil)
		}
		if err != nil {
			r.Warn("%s", exit.Message(err))
		}
		if tasks, err = r.look(ctx); err != nil {
			return err
		}
	}
}

// pick finds the tasks with the numbers of the table.
func (r *rescuer) pick(tasks []rescue.Task, words []string) ([]rescue.Task, error) {
	var out []rescue.Task
	for _, word := range words {
		n, ok := kernel.ParseNumber(word, 31)
		switch {
		case word == "all":
			out = append(out, userTasks(tasks)...)
		case !ok || n < 1 || int(n) > len(tasks) || !tasks[n-1].Eating():
			return nil, fmt.Errorf("there is no number %q in the table", word)
		default:
			out = append(out, tasks[n-1])
		}
	}
	return out, r.check(out)
}

// demoteAll makes threads ordinary at once, and records it afterwards.
func (r *rescuer) demoteAll(ctx context.Context, tasks []rescue.Task, partly error) error {
	q := change.Request{Set: []attr.Setting{attr.SetPolicy(attr.PolicyValue{Policy: kernel.Other})}, Reason: "piton rescue"}
	for _, k := range tasks { // named twice or not: the plan has each once
		q.Targets = append(q.Targets, change.Target{TID: k.TID, StartTicks: k.StartTicks, Scope: change.ScopeThread})
	}
	if len(q.Targets) == 0 {
		return changes.Report(r.App, change.Outcome{}, changes.Options{Output: r.output}, nil)
	}
	t := change.Local()
	plan, err := t.Plan(ctx, []change.Request{q})
	if err != nil {
		return err
	}
	result, err := t.Apply(ctx, plan, change.Confirmation{Yes: true})
	if result.Count(attr.Done) > 0 {
		recorder, openErr := r.Tuner()
		if openErr == nil {
			result.Entry, openErr = recorder.Record(plan, result)
		}
		if openErr != nil {
			result.Unrecorded = openErr
		}
	}
	return changes.Report(r.App, result, changes.Options{Output: r.output, Unmatched: partly}, err)
}

// warnUnmatched reports words that match nothing. piton rescue continues with the others: a
// task that has ended meanwhile must not stop it. It returns the end of a run that else
// succeeds.
func warnUnmatched(a *app.App, unmatched error) error {
	if unmatched == nil {
		return nil
	}
	a.Warn("%s", exit.Message(unmatched))
	return exit.With(exit.Some, nil)
}
