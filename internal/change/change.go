// Package change is the only way in which piton changes a machine: tasks, and files
// of the kernel such as an interrupt's CPUs. The command line, the screen, sudo's
// child, the guard, profiles, isolation and benchmarks build a Plan and Carry it.
//
// The order for every change is: take the user's lock, read the old value, skip if
// equal, write the journal, set, read back, record what became of it.
// What can be changed is in attr, the record in journal, the dead-man process in
// guard. Start at Tuner.
package change

import (
	"context"
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

// Entry is what the journal has of one Carry.
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

// Plan is what will change, in order, before it is applied. Refused changes are
// in it too, so that the user sees them.
type Plan struct {
	Requests []Request
	Changes  []Change
	// Warnings are what the user should know before saying yes.
	Warnings []Warning
	Needs    []Need   // what the user must have consented to
	Undoes   []uint64 // journal entries that the plan undoes
	Sweep    *Sweep   // not nil: the plan is over all tasks, and none was named
	// Again, when not nil, makes the plan anew: what it says depends on the journal
	// or on all tasks, and is only sure under the lock.
	Again func(ctx context.Context) (Plan, error)
	Trial *Trial // not nil: the changes are what may be tried, and what is made is found out
	// Reason is why, for the journal, beside those of Requests.
	Reason string
	Origin journal.Origin // for the journal; of the zero kind: by the user

	follow []follow // where new threads may appear meanwhile
	undo   []undone // which changes stand for which entry of Undoes
	// guarded are entries that a guard was to revert when their undo was planned.
	guarded []uint64
	// lapsed are the changes of an undo that the kernel has undone as CPUs went offline, with
	// those CPUs as far as they are known (attr.View.Lapsed).
	lapsed map[attr.Key]cpuset.Set
	// inForce asks for what there is to restore of Undoes by now.
	inForce func(ctx context.Context) ([]Request, error)
	// holds are processes that were held before they were looked at, under the lock.
	holds  map[attr.ID]kernel.Process
	blind  bool // nothing may be asked that waits for a task which gets no CPU
	damage []journal.Damage
}

// kind is that of the Origin where the plan itself tells.
func (p *Plan) kind() journal.OriginKind {
	switch {
	case p.Trial != nil:
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
