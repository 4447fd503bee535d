package tune

import (
	"slices"
	"strings"
)

// begin journals what is about to be done. Nothing is recorded when nothing
// will be; an undo is recorded all the same, so that it is known to be one.
func (r *run) begin() error {
	planned := r.only(Planned)
	if r.t.o.Journal == nil || len(planned) == 0 && len(r.plan.Undoes) == 0 {
		return nil
	}
	id, err := r.append(r.record(planned), true)
	r.result.Entry = id
	return err
}

func (r *run) record(changes []Change) record {
	out := record{
		Kind: kindBegin, Boot: r.t.o.Journal.boot, User: r.t.o.User, Command: r.t.o.Command,
		Undoes: r.plan.Undoes, Ticks: r.t.ticks(), Changes: toJournal(changes),
	}
	if r.plan.Sweep != nil {
		out.Sweep = r.plan.Sweep.AtTicks
	}
	for _, f := range r.plan.follow {
		out.Targets = append(out.Targets, f.target)
	}
	var reasons []string
	for _, q := range r.plan.Requests {
		if q.Reason != "" && !slices.Contains(reasons, q.Reason) {
			reasons = append(reasons, q.Reason)
		}
	}
	out.Reason = strings.Join(reasons, "; ")
	return out
}

// more journals changes to threads that were not there when it began.
func (r *run) more(changes []Change) error {
	if r.t.o.Journal == nil || len(changes) == 0 {
		return nil
	}
	if r.result.Entry == 0 {
		id, err := r.append(r.record(changes), true)
		r.result.Entry = id
		return err
	}
	_, err := r.append(record{Kind: kindMore, ID: r.result.Entry, Changes: toJournal(changes)}, true)
	return err
}

// end journals what became of it. It need not be on the disk at once: without
// it, an undo compares every value with the one that was to be set.
func (r *run) end() error {
	if r.t.o.Journal == nil || r.result.Entry == 0 {
		return nil
	}
	_, err := r.append(record{
		Kind: kindEnd, ID: r.result.Entry, Undone: r.undone(),
		Changes: toJournal(r.only(Done, Failed)),
	}, false)
	return err
}

// only returns the changes with one of the statuses.
func (r *run) only(statuses ...Status) []Change {
	var out []Change
	for _, c := range r.result.Changes {
		for _, s := range statuses {
			if c.Status == s {
				out = append(out, c)
			}
		}
	}
	return out
}
