package tune

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// The functions of this file are for changes that are taken back unless somebody
// confirms them: a guard, which is another process, is told by Plan.Mirror what
// is changed, and needs neither the journal nor the disk to take it back.

// append journals a record, and mirrors it.
func (r *run) append(rec record, sync bool) (uint64, error) {
	id, err := r.t.o.Journal.append(rec, sync)
	if err != nil || r.plan.Mirror == nil {
		return id, err
	}
	rec.Version, rec.ID, rec.Last, rec.Time = recordVersion, id, id, time.Now()
	line, err := json.Marshal(rec)
	if err == nil {
		err = r.plan.Mirror(line)
	}
	if err != nil {
		return id, fmt.Errorf("tell the guard: %w", err)
	}
	return id, nil
}

// ErrNoEntry is MirroredEntry's error for lines that begin no entry.
var ErrNoEntry = errors.New("no journal entry has begun")

// MirroredEntry puts the lines that Plan.Mirror was given, one after the other and
// each ended by a newline, together to the entry as the journal has it.
func MirroredEntry(lines []byte) (Entry, error) {
	entries, damage := parseJournal(lines, "")
	switch {
	case len(damage) > 0:
		return Entry{}, damage[0]
	case len(entries) != 1 || entries[0].BootID == "":
		return Entry{}, ErrNoEntry
	}
	entries[0].PastBoot = false // whoever mirrors it runs now
	return entries[0], nil
}

// PlanRevert returns the Plan that takes an entry back, like PlanUndo without
// reading the journal. What is not known to have been finished is taken back
// whatever it is now: piton may have ended between a change and its record. With
// since not 0 it is for heirs as well: threads and descendants of the changed
// processes that started no earlier than since, in ticks after boot, and have
// the value that piton set.
func (t *Tuner) PlanRevert(ctx context.Context, e Entry, since uint64) (Plan, error) {
	u := t.undoer(UndoRequest{Force: !e.Finished}, []Entry{e})
	u.blind = true
	u.entry(e)
	if since > 0 {
		heirs := u.heirs
		if e.Sweep > 0 { // it has named no process
			heirs = func(e Entry, _ uint64) error { return u.born(e) }
		}
		if err := heirs(e, since); err != nil {
			return Plan{}, err
		}
	}
	for i := range u.goals {
		if err := ctx.Err(); err != nil {
			return Plan{}, err
		}
		u.plan.Changes = append(u.plan.Changes, u.change(u.goals[i]))
	}
	return u.plan, nil
}

// heirs adds the goals of tasks that inherited a value.
func (u *undoer) heirs(e Entry, since uint64) error {
	processes := map[kernel.TID][]Change{} // one change of each attribute, the leader's if there is one
	for _, g := range slices.Clone(u.goals) {
		if g.file() {
			continue
		}
		models := processes[g.PID]
		i := slices.IndexFunc(models, func(c Change) bool { return c.Attribute == g.Attribute })
		switch {
		case i < 0:
			processes[g.PID] = append(models, g.Change)
		case g.TID == g.PID:
			models[i] = g.Change
		}
	}
	look := &resolver{Tuner: u.t}
	if err := look.readChildren(); err != nil {
		return fmt.Errorf("look for what inherited a value: %w", err)
	}
	for root, models := range processes {
		for pids := []kernel.TID{root}; len(pids) > 0; pids = pids[1:] {
			tasks, err := look.threads(pids[0], nil)
			if err != nil && !errors.Is(err, ErrGone) {
				return err
			}
			for _, k := range tasks {
				if k.startTicks >= since && !ended(k.state) {
					u.heir(e, k, models)
				}
			}
			for _, child := range look.children[pids[0]] {
				if processes[child] == nil { // else it is a root of its own
					pids = append(pids, child)
				}
			}
		}
	}
	return nil
}

func (u *undoer) heir(e Entry, k task, models []Change) {
	for _, m := range models {
		c := Change{PID: k.pid, TID: k.tid, StartTicks: k.startTicks, Comm: k.comm, Attribute: m.Attribute,
			Before: m.Before, After: m.After, Status: Done}
		now, err := u.t.read(c)
		if _, own := u.index[c.key()]; own || err != nil || now != m.After || m.Before == m.After {
			continue
		}
		u.index[c.key()] = len(u.goals)
		u.goals = append(u.goals, goal{Change: c, oldest: e.ID, before: m.Before})
	}
}

// Record journals afterwards what became of a plan that a Tuner without a journal
// has applied: for a machine where the threads that write to the disk get no CPU
// until that is done. It returns the number of the entry.
func (t *Tuner) Record(plan Plan, result Result) (uint64, error) {
	if t.o.Journal == nil {
		return 0, ErrNoJournal
	}
	r := &run{t: t, plan: &plan, result: result}
	id, err := t.o.Journal.append(r.record(r.only(Done, Failed)), true)
	if err != nil {
		return 0, err
	}
	r.result.Entry = id
	return id, r.end()
}

// Shield says what a guard of the plan has to get past: the highest real-time
// priority, 1..99, that a task of the plan has or is to get (0: none is FIFO or
// RR), and the CPUs on which those tasks may run once the plan is carried out.
func (t *Tuner) Shield(plan Plan) (rtprio int, cpus cpuset.Set) {
	policies, masks := map[kernel.TID]kernel.SchedAttr{}, map[kernel.TID]cpuset.Set{}
	for _, c := range plan.Changes {
		if c.Status != Planned || c.file() {
			continue
		}
		if _, known := policies[c.TID]; !known {
			// A task that has ended meanwhile counts as an ordinary one that runs nowhere.
			policies[c.TID], _ = t.o.Sched.Attr(c.TID)
			masks[c.TID], _ = t.o.Sched.Affinity(c.TID)
		}
		switch c.Attribute {
		case Policy:
			attr, _ := parsePolicy(c.After)
			attr.RTPrio = max(attr.RTPrio, policies[c.TID].RTPrio)
			policies[c.TID] = attr
		case Affinity:
			masks[c.TID], _ = cpuset.Parse(c.After)
		}
	}
	for tid, attr := range policies {
		if attr.RTPrio > 0 || attr.Policy.RealTime() {
			rtprio = max(rtprio, attr.RTPrio)
			cpus = cpus.Or(masks[tid])
		}
	}
	return rtprio, cpus
}
