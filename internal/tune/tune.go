// Package tune changes tasks, and files of the kernel such as an interrupt's
// CPUs, safely: it plans, journals, applies, verifies and
// undoes. Keys and flags both end here, so both are as careful.
//
// The order for every change is: resolve the target to (tid, start time), read
// the old value, skip if equal, write the journal and sync it, set, read back,
// report. Start at Tuner.
package tune

import (
	"slices"
	"time"

	"piton/internal/kernel"
)

// Attribute names what a Change changes; the names are those of the JSON.
type Attribute string

// The attributes.
const (
	Affinity Attribute = "affinity"
	Nice     Attribute = "nice"
	Policy   Attribute = "policy" // policy, real-time priority and reset-on-fork together
	IOPrio   Attribute = "ioprio"
)

// Scope says which tasks a target covers.
type Scope uint8

// The scopes.
const (
	ScopeProcess Scope = iota // every thread of the process that the TID belongs to
	ScopeThread               // that thread alone
	ScopeTree                 // the process, its descendants, and all their threads
)

// Target is one thing to tune. StartTicks, when not 0, must match field 22 of
// the task's stat file, or the target counts as gone: the number was reused
// since the caller looked.
type Target struct {
	TID        kernel.TID
	StartTicks uint64
	Scope      Scope
}

// Request is settings for targets; several requests make one Plan, so that
// targets can be given different CPUs at once.
type Request struct {
	Targets  []Target
	Settings Settings
	Files    []FileSetting // of the kernel, beside the targets or without any
	Reason   string        // why, in words; kept in the journal ("least-loaded: cpu 5, 1% busy")
	// Restore: the affinity is one that the targets had, as far as could be read. Where
	// it is all that a task could have now, it is given the CPUs that are offline, too.
	Restore bool
}

// Status is what became of a change.
type Status string

// The statuses, as in JSON.
const (
	Planned   Status = "planned" // dry run, or not yet applied
	Done      Status = "done"
	Unchanged Status = "unchanged" // it had the value already
	Failed    Status = "failed"    // the kernel refused or the value did not stick
	Refused   Status = "refused"   // piton did not try, Reason says why
)

// Change is one attribute of one thread, or of one file of the kernel.
type Change struct {
	PID        kernel.TID // the process it belongs to; 0 for a file that belongs to none
	TID        kernel.TID
	StartTicks uint64
	Comm       string // of a file: what tells its object from a later one, an IRQ's handlers
	Path       string // of a file, "/proc/irq/24/smp_affinity_list"; "" for a task
	Name       string // of a file, as users know it: "irq 24 (virtio0-input.0)"
	Attribute  Attribute
	// Before and After are the values as text, in the form of the table's
	// columns: "0-3", "-5", "FIFO:10", "FIFO:10,reset-on-fork", "best-effort:4".
	Before, After string
	Status        Status
	Err           error // when Failed
	// Taken: it Failed because it reads back other than it was set, and yet what it
	// was Before is not what is in force now, so there is something to undo.
	Taken bool

	unbound bool   // an affinity that nobody chose is restored
	Reason  string // why it failed or was refused or needs a warning, in the user's words
}

// Plan is what will change, in order, before it is applied. Refused entries are
// in it too, so that the user sees them.
type Plan struct {
	Requests []Request
	Changes  []Change
	// Warnings are what the user should know before saying yes: one-way changes
	// (leaving SCHED_IDLE without rights), autogroup making nice moot, real-time
	// on a busy task.
	Warnings []string
	// Trial says why the change should be taken back unless the user confirms it
	// once it is in force; "" if there is no such danger.
	Trial string
	// NeedsYes says why Apply refuses the plan until Yes is set; "" if it does not.
	NeedsYes string
	Yes      bool     // the user was told NeedsYes and wants it all the same
	Undoes   []uint64 // journal entries that the plan takes back
	Sweep    *Sweep   // not nil: the plan is over all tasks, and none was named
	// Mirror, when not nil, is given every line that the journal gets for the plan:
	// before the changes that the line announces are made, and once it is on the
	// disk. Its error stops the plan there. A guard learns from it what to take back.
	Mirror func(line []byte) error

	follow []follow // where new threads may appear meanwhile
	undo   []undone // which changes stand for which entry of Undoes
}

// Processes and Threads count what the plan touches, for "3 processes (41 threads)".
func (p Plan) Processes() int { return p.count(func(c Change) kernel.TID { return c.PID }) }

// Threads counts the distinct threads of the plan.
func (p Plan) Threads() int { return p.count(func(c Change) kernel.TID { return c.TID }) }

func (p Plan) count(id func(Change) kernel.TID) int {
	seen := map[kernel.TID]bool{}
	for _, c := range p.Changes {
		if !c.file() {
			seen[id(c)] = true
		}
	}
	return len(seen)
}

// Files counts the distinct files of the kernel that the plan touches; FilesText
// says what they are of.
func (p Plan) Files() int {
	seen := map[string]bool{}
	for _, c := range p.Changes {
		if c.file() {
			seen[c.Path] = true
		}
	}
	return len(seen)
}

// Result is what became of a Plan.
type Result struct {
	Entry    uint64 // journal entry for undo, 0 when nothing was changed
	Changes  []Change
	Passes   int      // over the threads, until two found nothing new
	Newborn  int      // threads that appeared meanwhile and were set as well
	Undone   []uint64 // entries of the plan's Undoes of which nothing is left in force
	Warnings []string
}

// Changed reports whether anything is other than it was.
func (r Result) Changed() bool { return slices.ContainsFunc(r.Changes, Change.took) }

// took reports whether the change has come about, perhaps not as it was meant.
func (c Change) took() bool { return c.Status == Done || c.Taken }

// Count returns how many changes have the status.
func (r Result) Count(s Status) int {
	n := 0
	for _, c := range r.Changes {
		if c.Status == s {
			n++
		}
	}
	return n
}

// Entry is one line of the journal: everything one Apply was about to do.
type Entry struct {
	ID       uint64
	Time     time.Time
	BootID   string
	User     string // who, "root" or "balu (sudo)"
	Command  string // argv, or the key's action
	Reason   string
	Targets  []Target // what was asked for; threads of them may have been born since
	Changes  []Change
	Undoes   []uint64 // the entries that this one took back; none for an ordinary entry
	Sweep    uint64   // Sweep.AtTicks of a plan over all tasks, else 0
	Ticks    uint64   // when it was made, USER_HZ since boot; 0 = not recorded
	Undone   bool     // an undo of it has been journalled
	Finished bool     // its results were journalled; false after a crash in the middle
	PastBoot bool     // made before this boot: its tasks are gone, its numbers mean others
}
