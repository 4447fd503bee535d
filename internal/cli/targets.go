package cli

import (
	"errors"
	"fmt"
	"os"

	"piton/internal/kernel"
	"piton/internal/sample"
	"piton/internal/target"
	"piton/internal/tune"
)

// tellUnmatched says which words meant nothing, before the others' tasks are
// changed, and returns how a run ends in which nothing else goes wrong.
func (a *app) tellUnmatched(unmatched error) error {
	if unmatched == nil {
		return nil
	}
	a.warn("%s", message(unmatched))
	return codeError{ExitSome, nil}
}

// targets finds the tasks that the words mean. Words that mean nothing are in
// unmatched, and the others' tasks are returned all the same.
func (a *app) targets(words []string, scope tune.Scope) (found []tune.Target, unmatched, err error) {
	var others, threads []target.Expr
	needs := sample.Needs{Threads: scope == tune.ScopeThread}
	for _, word := range words {
		e, err := target.Parse(word)
		if err != nil {
			return nil, nil, usageError{err}
		}
		if pid, ok := e.PID(); ok { // whether it exists is found out by the plan
			found = append(found, tune.Target{TID: pid, Scope: scope})
			continue
		}
		if e.MeansThreads() {
			if scope == tune.ScopeTree {
				return nil, nil, usagef("%s means single threads, and --tree whole processes", word)
			}
			threads, needs.Threads = append(threads, e), true
			continue
		}
		others = append(others, e)
		needs.Identity = needs.Identity || e.NeedsIdentity()
	}
	if len(others)+len(threads) == 0 {
		return found, nil, nil
	}
	s, err := a.sampleOnce(needs)
	if err != nil {
		return nil, nil, err
	}
	self := kernel.TID(os.Getpid())
	tasks, unmatched := target.Resolve(others, s.Tasks, self)
	for _, t := range tasks {
		found = append(found, tune.Target{TID: t.TID, StartTicks: t.StartTicks, Scope: scope})
	}
	tasks, none := target.Resolve(threads, s.Tasks, self)
	for _, t := range tasks {
		found = append(found, tune.Target{TID: t.TID, StartTicks: t.StartTicks, Scope: tune.ScopeThread})
	}
	unmatched = errors.Join(unmatched, none)
	if len(found) == 0 {
		return nil, nil, unmatched
	}
	return found, unmatched, nil
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
