package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"piton/internal/guard"
	"piton/internal/kernel"
	"piton/internal/tui"
	"piton/internal/tune"
)

// launcher starts guards that are this program.
func (a *app) launcher() guard.Launcher {
	return guard.Launcher{Env: a.Env, User: a.userName(), Journal: tune.JournalPath(a.getenv, kernel.EUID())}
}

// guardDir is where the guards of whoever runs piton can be spoken to.
func (a *app) guardDir() string { return guard.Dir(a.launcher().Journal) }

// beGuard is the life of a guard process. It is looked at before anything else, so
// that it starts fast.
func (a *app) beGuard() int {
	if err := guard.Main(); err != nil {
		fmt.Fprintf(a.Err, "piton: %s\n", message(err))
		return ExitFailed
	}
	return ExitDone
}

// apply carries a plan out, under guard if asked for.
func (a *app) apply(ctx context.Context, t *tune.Tuner, plan tune.Plan, o applyOptions) (tune.Result, error) {
	if !o.revertAfter.given {
		result, err := t.Apply(ctx, plan)
		if err == nil {
			err = a.disarm(result.Undone)
		}
		return result, err
	}
	if len(plan.Undoes) > 0 {
		return tune.Result{}, usagef("--revert-after is for changes; what takes changes back is not taken back by itself")
	}
	result, g, err := a.launcher().Apply(ctx, t, plan, o.revertAfter.d)
	if g == nil {
		return result, err
	}
	g.Leave()
	if errors.Is(err, guard.ErrTooLate) {
		return result, fmt.Errorf("the change took longer than %v: %w", o.revertAfter.d, err)
	}
	return result, errors.Join(err, a.announce(g, o))
}

// announce says how to confirm a change that is under guard.
func (a *app) announce(g *guard.Guard, o applyOptions) error {
	confirm := fmt.Sprintf("piton keep %d", g.Entry)
	if o.output.json() {
		var l line
		l.start("guard").add("entry", g.Entry).add("guard_pid", g.PID).add("revert_after_s", g.After.Seconds()).
			add("deadline", time.Now().Add(g.After).UTC().Format(time.RFC3339Nano)).add("confirm", confirm).addList("caveats", g.Caveats)
		return l.write(a.Out)
	}
	if len(g.Caveats) > 0 {
		a.warn("the guard is less sure than it could be: %s", strings.Join(g.Caveats, "; "))
	}
	a.warn("entry %d is taken back in %v unless you confirm it: %s", g.Entry, g.After, confirm)
	return nil
}

// disarm ends the guards of entries that have been taken back.
func (a *app) disarm(entries []uint64) error {
	if len(entries) == 0 {
		return nil
	}
	armed, err := guard.List(a.guardDir())
	for _, g := range armed {
		if !slices.Contains(entries, g.Entry) {
			continue
		}
		if keepErr := g.Keep(); !errors.Is(keepErr, guard.ErrTooLate) {
			err = errors.Join(err, keepErr)
		}
	}
	if err != nil {
		return fmt.Errorf("a guard may take it back once more: %w", err)
	}
	return nil
}

// screenGuard starts the guards of the screen.
func (a *app) screenGuard(t *tune.Tuner) tui.Guard {
	l := a.launcher()
	return func(ctx context.Context, plan tune.Plan, after time.Duration) (tune.Result, tui.Trial, error) {
		result, g, err := l.Apply(ctx, t, plan, after)
		if g == nil {
			return result, nil, err
		}
		return result, g, err
	}
}

// disarming is Tuning whose undo ends the guards of what it has taken back.
type disarming struct {
	tui.Tuning
	a *app
}

// Apply carries a plan out. The guard of an entry of which nothing is left would
// find nothing to take back now, but might do so later.
func (d disarming) Apply(ctx context.Context, plan tune.Plan) (tune.Result, error) {
	result, err := d.Tuning.Apply(ctx, plan)
	if err != nil {
		return result, err
	}
	return result, d.a.disarm(result.Undone)
}
