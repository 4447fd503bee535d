package action

import (
	"context"
	"slices"
	"strconv"

	"piton/internal/kernel"
	"piton/internal/tune"
)

// planNice steps each thread from its own nice value. Those are read from the
// kernel and not from the last sample, so that quick key presses add up.
func planNice(ctx context.Context, d Deps, targets []tune.Target, t Tuning) (tune.Plan, error) {
	requests := niceRequests(targets, t)
	plan, err := d.Tuner.Plan(ctx, requests)
	apart := func(c tune.Change) bool {
		now, err := strconv.Atoi(c.Before)
		return err == nil && c.After != strconv.Itoa(stepped(now, t.NiceBy))
	}
	if err != nil || !slices.ContainsFunc(plan.Changes, apart) {
		return plan, err
	}
	var each []tune.Request
	for _, r := range requests {
		each = append(each, byThread(r, plan.Changes, t.NiceBy)...)
	}
	return d.Tuner.Plan(ctx, each)
}

// niceRequests steps each target from the nice value of its first thread.
func niceRequests(targets []tune.Target, t Tuning) []tune.Request {
	out := make([]tune.Request, len(targets))
	for i, target := range targets {
		now, err := kernel.System().Nice(target.TID)
		if err != nil {
			now = 0 // the plan says what is wrong with the target
		}
		nice := stepped(now, t.NiceBy)
		out[i] = tune.Request{Targets: targets[i : i+1], Reason: t.Reason, Settings: tune.Settings{Nice: &nice}}
	}
	return out
}

// byThread is a process's request as one for each nice value that its threads
// come to. Threads born meanwhile have their parents'.
func byThread(r tune.Request, seen []tune.Change, by int) []tune.Request {
	process := r.Targets[0]
	var out []tune.Request
	at := map[int]int{} // in out
	for _, c := range seen {
		now, err := strconv.Atoi(c.Before)
		if err != nil || c.PID != process.TID || process.Scope != tune.ScopeProcess {
			continue
		}
		nice := stepped(now, by)
		i, ok := at[nice]
		if !ok {
			i, at[nice] = len(out), len(out)
			out = append(out, tune.Request{Reason: r.Reason, Settings: tune.Settings{Nice: &nice}})
		}
		out[i].Targets = append(out[i].Targets, tune.Target{TID: c.TID, StartTicks: c.StartTicks, Scope: tune.ScopeThread})
	}
	switch len(out) {
	case 0:
		return []tune.Request{r}
	case 1: // all alike
		out[0].Targets = r.Targets
	}
	return out
}

func stepped(nice, by int) int { return min(max(nice+by, -20), 19) }
