package cli

import (
	"errors"
	"fmt"
	"os"

	"piton/internal/change"
	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/sample"
	"piton/internal/target"
)

// chosen is what the words of a change mean.
type chosen struct {
	targets []change.Target
	// wide is how much of the machine patterns mean, nil where that is not so much that
	// the change needs a confirmation for it.
	wide *target.Breadth
}

// choose finds the tasks that the words mean, for a change: a word that means
// nothing is an error before anything is changed.
func (a *app) choose(words []string, scope change.Scope) (chosen, error) {
	c, unmatched, err := a.resolveTargets(words, scope)
	if err = errors.Join(err, unmatched, a.noTask(c.targets)); err != nil {
		return chosen{}, err
	}
	return c, nil
}

// noTask is the error of targets by number that are no task.
func (a *app) noTask(targets []change.Target) error {
	proc := procfs.New(a.hostRoot)
	var errs []error
	for _, t := range targets {
		if t.StartTicks != 0 { // found by a look at the tasks
			continue
		}
		if _, err := proc.Stat(t.TID); errors.Is(err, procfs.ErrGone) {
			errs = append(errs, target.NoMatchError{Target: fmt.Sprint(t.TID), Number: true})
		}
	}
	return errors.Join(errs...)
}

// targets finds the tasks that the words mean. Words that mean nothing are in
// unmatched, and the others' tasks are returned all the same. Whether a number is
// one of a task is left to the caller.
func (a *app) targets(words []string, scope change.Scope) (found []change.Target, unmatched, err error) {
	c, unmatched, err := a.resolveTargets(words, scope)
	if err == nil && len(c.targets) == 0 {
		return nil, nil, unmatched
	}
	return c.targets, unmatched, err
}

func (a *app) resolveTargets(words []string, scope change.Scope) (c chosen, unmatched, err error) {
	var others, threads []target.Expr
	needs := sample.Needs{Threads: scope == change.ScopeThread}
	seen := map[string]bool{}
	for _, word := range words {
		if seen[word] { // a plan compares each target with the others
			continue
		}
		seen[word] = true
		e, err := target.Parse(word)
		if err != nil {
			return c, nil, asUsage(err)
		}
		if pid, ok := e.PID(); ok {
			c.targets = append(c.targets, change.Target{TID: pid, Scope: scope})
			continue
		}
		if e.MeansThreads() {
			if scope == change.ScopeTree {
				return c, nil, usagef("%s means single threads, and --tree whole processes", word)
			}
			threads, needs.Threads = append(threads, e), true
			continue
		}
		others = append(others, e)
		needs.Identity = needs.Identity || e.NeedsIdentity()
	}
	if len(others)+len(threads) == 0 {
		return c, nil, nil
	}
	s, err := a.sampleOnce(needs)
	if err != nil {
		return c, nil, err
	}
	self := kernel.TID(os.Getpid())
	tasks, unmatched := target.Resolve(others, s.Tasks, self)
	for _, t := range tasks {
		c.targets = append(c.targets, change.Target{TID: t.TID, StartTicks: t.StartTicks, Scope: scope})
	}
	tasks, none := target.Resolve(threads, s.Tasks, self)
	for _, t := range tasks {
		c.targets = append(c.targets, change.Target{TID: t.TID, StartTicks: t.StartTicks, Scope: change.ScopeThread})
	}
	if breadth, wide := target.Wide(append(others, threads...), s.Tasks, self); wide {
		c.wide = &breadth
	}
	return c, errors.Join(unmatched, none), nil
}

// sampleOnce reads one sample.
func (a *app) sampleOnce(needs sample.Needs) (*sample.Sample, error) {
	s, err := sample.New(sample.Options{Root: a.hostRoot, Needs: needs})
	if err != nil {
		return nil, fmt.Errorf("look at the tasks: %w", err)
	}
	n, err := s.Read()
	return n, errors.Join(err, s.Close())
}

// needWide adds the confirmation that patterns need which mean much of the machine.
func needWide(plan *change.Plan, wide *target.Breadth) {
	if wide != nil {
		plan.Need(change.WholeMachine, "the targets are %s", wide)
	}
}
