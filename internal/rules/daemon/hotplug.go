package daemon

import (
	"context"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/history"
	"piton/internal/cpuset"
	"piton/internal/rules"
)

// lookForCPUs looks which CPUs are online, and has those used again that came back. What goes and
// comes between two looks is missed.
func (d *Daemon) lookForCPUs(ctx context.Context) {
	if now := d.now(); now-d.looked >= lookEvery {
		d.looked = now
		online, err := d.o.Machine.Online()
		if err != nil {
			return // there is no hotplug
		}
		if back := online.AndNot(d.online); !d.online.Empty() && !back.Empty() {
			d.back, d.unsettled = d.back.Or(back), d.engine.Applied()
		}
		d.online = online
	}
	for len(d.unsettled) > 0 && ctx.Err() == nil {
		batch := d.unsettled[:min(len(d.unsettled), largestBatch)]
		effects, passing := d.o.Applier.Back(ctx, batch, d.back)
		for i := range effects {
			d.o.Report(Report{Effect: &effects[i]})
		}
		if passing != nil {
			return
		}
		d.unsettled = d.unsettled[len(batch):]
	}
	if len(d.unsettled) == 0 {
		d.back = cpuset.Set{}
	}
}

// Back is part of Applier.
func (c *Changer) Back(ctx context.Context, applied []rules.Decision, back cpuset.Set) (effects []Effect, passing error) {
	if c.DryRun {
		return nil, nil
	}
	setters, view := c.Tuner.Setters(), c.Tuner.NewView()
	var requests []change.Request
	for _, d := range applied {
		requests = append(requests, c.lapsed(d, back, setters, view)...)
	}
	return c.once(ctx, applied, requests)
}

// lapsed asks for the CPUs that a rule gave threads of the process, or would have given them, and
// that they do not have because some of them were offline. What others have set since stays.
func (c *Changer) lapsed(d rules.Decision, back cpuset.Set, setters map[attr.Key]history.Setter, view *attr.View) (out []change.Request) {
	t := c.Tuner
	want, err := c.Wants.Tuning(d.Rule)
	if err != nil {
		return nil
	}
	stated, _ := change.Request{Set: want.Set}.Affinity()
	st, err := t.Proc.Stat(d.PID)
	if err != nil || st.StartTicks != d.StartTicks {
		return nil
	}
	tids, _ := t.Proc.Threads(d.PID) // none: it has ended
	for _, tid := range tids {
		k, err := t.Look(d.PID, tid)
		if err != nil || k.Ended() {
			continue
		}
		last := change.Change{Object: k.Object(), Attribute: attr.Affinity}
		set, known := setters[last.Key()]
		given := attr.CPUs(stated)
		if given.Empty() {
			given = attr.CPUs(set.Value) // a strategy chose them
		}
		now, err := t.Value(attr.Affinity, tid)
		if err != nil || known && (set.Undone || !set.Origin.OfRules()) || given.And(back).Empty() {
			continue
		}
		_, all := view.Lapsed(last, given, now)
		if all || attr.CPUs(now).Equal(given.AndNot(back)) { // Linux 6.1 leaves out what is offline
			out = append(out, change.Request{Targets: []change.Target{{TID: tid, StartTicks: k.StartTicks, Scope: change.ScopeThread}},
				Set: []attr.Setting{attr.SetAffinity(given)}, Reason: d.Rule.Title()})
		}
	}
	return out
}

// Online is part of Machine.
func (l *Live) Online() (cpuset.Set, error) {
	online, err := attr.ReadCPUs(l.root, "online")
	if err == nil && !online.Equal(l.topo.Online) {
		err = l.survey()
	}
	return online, err
}
