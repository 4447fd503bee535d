// Package change is the only way in which piton changes a machine: tasks, and files of the
// kernel such as an interrupt's CPUs. What can be changed is in attr, the record in journal,
// what the record says in history, the dead-man process in guard. simulate judges all of it
// by random histories.
//
// An Order is what is asked for, and a Plan is an Order with the changes that it comes to.
// Tuner.Plan makes one of requests (plan.go), PlanUndo of entries to undo (undo.go,
// restore.go), PlanTrial of candidates (trial.go), and package partition of CPUs to isolate.
// A Plan is data and changes nothing: refused changes are in it, what to warn of
// (risk.go), and what needs confirmation (confirmation.go).
//
// Apply (run.go) carries a Plan out:
//
//   - It takes the user's lock, and makes a plan anew that depends on the journal or on all
//     tasks (Tuner.again). The confirmation must cover it.
//   - It holds each process, so that its number cannot be used again unseen, and reads the
//     old values once more (refresh).
//   - It refuses what another piton's search sets in turn at the moment (refuseDuringTrial).
//   - It arms a guard, if the change is to be reverted unless somebody confirms it.
//   - It writes the journal (begin). What cannot be recorded is not made, but for an undo
//     where the disk takes nothing more. A Tuner without a journal (Local) records nothing;
//     what a rescue and a guard have made is recorded afterwards (Record).
//   - It makes the changes one by one (one, in apply.go): compare, write, read back.
//   - It looks for threads born meanwhile, until two looks in a row find no new one, for
//     5 s at most (newthreads.go), and asks a plan over all tasks what else there is
//     (matchall.go). Those are recorded, too, before they are made (more).
//   - It ends the guards of what is undone (endGuards), and records what became of each change
//     (end). Without that record, an undo compares every value with the one that was meant.
//
// Try does the same with a trial, which sets its candidates in turn, as often as it likes,
// and in the end what was there before. ApplyAsDaemon is for a piton that makes changes all
// day (as_daemon.go).
//
// An undo goes back over its entries, the newest first. Where the value in force is what
// they left, it sets what they found; else it refuses, unless forced. Threads of the same
// process, and children, born since that have exactly what was set get what was there before
// (inherited.go). Revert undoes one entry for a guard, without the journal; it waits 250 ms
// for the lock, and goes on without it (revert.go).
//
// Start at Tuner.
package change

import (
	"slices"

	"piton/internal/change/attr"
	"piton/internal/change/history"
	"piton/internal/change/journal"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// Target is one thing to change. StartTicks, when not 0, must match field 22 of
// the task's stat file, or the target counts as gone: the number was reused
// since the caller looked.
type Target = journal.Target

// Scope says which tasks a target covers.
type Scope = journal.Scope

// The scopes.
const (
	ScopeProcess = journal.ScopeProcess // every thread of the process that the TID belongs to
	ScopeThread  = journal.ScopeThread  // that thread alone
	ScopeTree    = journal.ScopeTree    // the process, its descendants, and all their threads
)

// Change is one attribute of one object.
type Change = attr.Change

// Entry is what the journal has of one Apply.
type Entry = journal.Entry

// Request is settings for targets; several requests make one Plan, so that
// targets can be given different CPUs at once.
type Request struct {
	Targets []Target           `json:"targets,omitempty"`
	Set     []attr.Setting     `json:"set,omitempty"`
	Files   []attr.FileSetting `json:"files,omitempty"`  // of the kernel, beside the targets or without any
	Reason  string             `json:"reason,omitempty"` // why, in words; kept in the journal ("least-loaded: cpu 5, 1% busy")
	// Restore: the affinity is one that the targets had, as far as could be read. Where
	// it is all that a task could have now, it is given the CPUs that are offline, too.
	Restore bool `json:"restore,omitempty"`
}

// Affinity is the CPUs that the request sets, none if it sets none.
func (r Request) Affinity() (cpus attr.Value, ok bool) {
	i := slices.IndexFunc(r.Set, func(s attr.Setting) bool { return s.Attribute == attr.Affinity })
	if i < 0 {
		return nil, false
	}
	return r.Set[i].Value, true
}

// Plan is an Order with what it will change, before that is done. Refused changes are in
// it too, so that the user sees them.
type Plan struct {
	Order
	Changes []Change // in the order in which they are made
	// Warnings are what the user should know before saying yes.
	Warnings []Warning
	Needs    []Need   // what the user must have confirmed
	Undoes   []uint64 // journal entries that the plan undoes
	Sweep    Sweep    // not nil: the plan is over all tasks, and none was named
	AtTicks  uint64   // when the tasks of a Sweep were looked at, USER_HZ since boot
	// Reason is why, for the journal, beside those of Requests.
	Reason string
	Origin journal.Origin // for the journal; of the zero kind: by the user

	candidates []Plan          // not nil: Changes are what a trial may set, 1 and on in turn
	asDaemon   bool            // not planned yet (ApplyAsDaemon)
	follow     []follow        // where new threads may appear meanwhile
	undo       []undone        // which changes stand for which entry of Undoes
	chosen     map[uint64]bool // those of Undoes that were asked for
	entries    []Entry         // the journal when the undo was planned
	// guarded are entries that a guard was to revert when their undo was planned, and unconfirmed
	// those that are not to be undone and were made under one: what they set is not restored.
	guarded     []uint64
	unconfirmed map[uint64]bool
	// lapsed are the changes of an undo that the kernel has undone as CPUs went offline, with
	// those CPUs as far as they are known (attr.View.Lapsed).
	lapsed map[attr.Key]cpuset.Set
	// holds are processes that were held before they were looked at, under the lock.
	holds  map[attr.ID]kernel.Process
	blind  bool // nothing may be asked that waits for a task which gets no CPU
	damage []journal.Damage
}

// kind is that of the Origin where the plan itself tells.
func (p *Plan) kind() journal.OriginKind {
	switch {
	case p.candidates != nil:
		return journal.ByTrial
	case len(p.Undoes) > 0:
		return journal.ByUndo
	}
	return journal.ByUser
}

// Warning is something that the user should know.
type Warning struct {
	Kind attr.Warning `json:"kind"`
	Text string       `json:"text"`
}

// Note returns a Warning that is only to be known.
func Note(text string) Warning { return Warning{attr.Note, text} }

// Texts are the sentences of warnings.
func Texts(warnings []Warning) []string {
	out := make([]string, len(warnings))
	for i, w := range warnings {
		out[i] = w.Text
	}
	return out
}

// Processes and Threads count what the plan touches, for "3 processes (41 threads)".
func (p Plan) Processes() int {
	return history.Count(p.Changes, func(c Change) kernel.TID { return c.PID })
}

// Threads counts the distinct threads of the plan.
func (p Plan) Threads() int {
	return history.Count(p.Changes, func(c Change) kernel.TID { return c.TID })
}

// Files counts the distinct files of the kernel that the plan touches.
func (p Plan) Files() int { return history.Count(p.Changes, func(c Change) string { return c.Path }) }

// WillChange reports whether the plan would change anything.
func (p Plan) WillChange() bool {
	return slices.ContainsFunc(p.Changes, func(c Change) bool { return c.Status == attr.Planned })
}

// Preview is the Outcome of a plan that is not carried out.
func (p Plan) Preview() Outcome {
	return Outcome{Changes: p.Changes, Warnings: append(slices.Clone(p.Warnings), p.dangers()...), Damage: p.damage}
}

// dangers are the plan's needs as warnings.
func (p Plan) dangers() []Warning {
	var out []Warning
	for _, n := range p.Needs {
		switch {
		case !p.WillChange():
		case n.Danger == NoWayBack:
			out = append(out, Warning{attr.OneWay, n.Text})
		case !n.Danger.AskFirst():
			out = append(out, Note(n.Text))
		}
	}
	return out
}
