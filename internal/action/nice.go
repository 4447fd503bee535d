package action

import (
	"context"
	"slices"

	"piton/internal/change"
	"piton/internal/change/attr"
)

// planNice steps each thread from its own nice value. Those are read from the
// kernel and not from the last sample, so that quick key presses add up.
func planNice(ctx context.Context, d Deps, targets []change.Target, t Tuning) (change.Plan, error) {
	requests := make([]change.Request, len(targets)) // from the nice value of each target's first thread
	for i, target := range targets {
		now, err := d.Tuner.Sched.Nice(target.TID)
		if err != nil {
			now = 0 // the plan says what is wrong with the target
		}
		requests[i] = change.Request{Targets: targets[i : i+1], Reason: t.Reason, Set: []attr.Setting{stepped(attr.NiceValue(now), t.NiceBy)}}
	}
	plan, err := d.Tuner.Plan(ctx, requests)
	apart := func(c change.Change) bool {
		now, known := c.Before.(attr.NiceValue)
		return known && c.After != stepped(now, t.NiceBy).Value
	}
	if err != nil || !slices.ContainsFunc(plan.Changes, apart) {
		return plan, err
	}
	var each []change.Request
	for _, r := range requests {
		each = append(each, byThread(r, plan.Changes, t.NiceBy)...)
	}
	return d.Tuner.Plan(ctx, each)
}

// byThread is a process's request as one for each nice value that its threads
// come to. Threads born meanwhile have their parents'.
func byThread(r change.Request, seen []change.Change, by int) []change.Request {
	process := r.Targets[0]
	var out []change.Request
	at := map[attr.Setting]int{} // in out
	for _, c := range seen {
		now, known := c.Before.(attr.NiceValue)
		if !known || c.PID != process.TID || process.Scope != change.ScopeProcess {
			continue
		}
		nice := stepped(now, by)
		i, ok := at[nice]
		if !ok {
			i, at[nice] = len(out), len(out)
			out = append(out, change.Request{Reason: r.Reason, Set: []attr.Setting{nice}})
		}
		out[i].Targets = append(out[i].Targets, change.Target{TID: c.TID, StartTicks: c.StartTicks, Scope: change.ScopeThread})
	}
	switch len(out) {
	case 0:
		return []change.Request{r}
	case 1: // all alike
		out[0].Targets = r.Targets
	}
	return out
}

func stepped(nice attr.NiceValue, by int) attr.Setting {
	return attr.SetNice(min(max(int(nice)+by, -20), 19))
}
