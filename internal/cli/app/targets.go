package app

import (
	"errors"
	"fmt"
	"os"

	"piton/internal/change"
	"piton/internal/cli/exit"
	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/sample"
	"piton/internal/target"
	"piton/internal/users"
)

// Chosen is what words mean.
type Chosen struct {
	Targets []change.Target
	// Wide is how much of the machine patterns mean, nil where that is not so much that
	// the change needs a confirmation for it.
	Wide *target.Breadth
}

// Choose finds the tasks that the words mean, for a change: a word that matches nothing is
// an error, and nothing is changed.
func (a *App) Choose(words []string, scope change.Scope) (Chosen, error) {
	c, unmatched, err := a.Targets(words, scope)
	if err = errors.Join(err, unmatched, a.MissingTasks(c.Targets)); err != nil {
		return Chosen{}, err
	}
	return c, nil
}

// MissingTasks is the error of targets given by the number of no task.
func (a *App) MissingTasks(targets []change.Target) error {
	proc := procfs.New(a.HostRoot)
	var errs []error
	for _, t := range targets {
		if t.StartTicks != 0 { // found among the tasks
			continue
		}
		if _, err := proc.Stat(t.TID); errors.Is(err, procfs.ErrGone) {
			errs = append(errs, target.NoMatchError{Target: fmt.Sprint(t.TID), Number: true})
		}
	}
	return a.Missing(errors.Join(errs...))
}

// Missing is an error about tasks that are not there, which may be hidden.
func (a *App) Missing(err error) error {
	if err == nil {
		return nil
	}
	if hides := procfs.New(a.HostRoot).Hides(); hides != "" {
		return fmt.Errorf("%w; %s", err, hides)
	}
	return err
}

// Targets finds the tasks that the words mean. unmatched is about words that match nothing
// while others do. Numbers are not checked: there may be no such task.
func (a *App) Targets(words []string, scope change.Scope) (c Chosen, unmatched, err error) {
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
			return c, nil, exit.With(exit.Usage, err)
		}
		if pid, ok := e.PID(); ok {
			c.Targets = append(c.Targets, change.Target{TID: pid, Scope: scope})
			continue
		}
		if e, err = a.knownUser(e); err != nil {
			return c, nil, err
		}
		if e.MeansThreads() {
			if scope == change.ScopeTree {
				return c, nil, exit.Usagef("%s means single threads, and --tree whole processes", word)
			}
			threads, needs.Threads = append(threads, e), true
			continue
		}
		others = append(others, e)
		needs.Identity = needs.Identity || e.NeedsIdentity()
		needs.Exe = needs.Identity
		needs.BothUsers = needs.BothUsers || e.User() != ""
	}
	if len(others)+len(threads) == 0 {
		return c, nil, nil
	}
	s, err := a.SampleOnce(needs, sample.EBPFNever)
	if err != nil {
		return c, nil, err
	}
	self := kernel.TID(os.Getpid())
	tasks, unmatched := target.Resolve(others, s.Tasks, self)
	for _, t := range tasks {
		c.Targets = append(c.Targets, change.Target{TID: t.TID, StartTicks: t.StartTicks, Scope: scope})
	}
	tasks, none := target.Resolve(threads, s.Tasks, self)
	for _, t := range tasks {
		c.Targets = append(c.Targets, change.Target{TID: t.TID, StartTicks: t.StartTicks, Scope: change.ScopeThread})
	}
	if breadth, wide := target.Wide(append(others, threads...), s.Tasks, self); wide {
		c.Wide = &breadth
	}
	if unmatched = a.Missing(errors.Join(unmatched, none)); len(c.Targets) == 0 {
		return c, nil, unmatched
	}
	return c, unmatched, nil
}

// knownUser is a target with the number of the user that it names. One that nobody knows is an
// error; where a directory service gives no answer, the name has to do.
func (a *App) knownUser(e target.Expr) (target.Expr, error) {
	if !e.ByName() {
		return e, nil
	}
	uid, ok, known := users.New(a.HostRoot).ID(e.User())
	switch {
	case ok:
		return e.WithUser(uid), nil
	case known:
		return e, fmt.Errorf("there is no user %q", e.User())
	}
	return e, nil
}

// SampleOnce reads one sample.
func (a *App) SampleOnce(needs sample.Needs, ebpf sample.EBPF) (*sample.Sample, error) {
	s, err := sample.New(sample.Options{Root: a.HostRoot, Needs: needs, EBPF: a.EBPF(ebpf)})
	if err != nil {
		return nil, fmt.Errorf("look at the tasks: %w", err)
	}
	n, err := s.Read()
	return n, errors.Join(err, s.Close())
}

// ConfirmWide adds the confirmation that patterns need which mean much of the machine.
func ConfirmWide(plan *change.Plan, wide *target.Breadth) {
	if wide != nil {
		plan.Need(change.WholeMachine, "the targets are %s", wide)
	}
}
