package change

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"piton/internal/change/attr"
	"piton/internal/change/history"
	"piton/internal/change/journal"
	"piton/internal/kernel"
)

// Options are what a Tuner works with.
type Options struct {
	attr.Sources
	// Writer and FileWriter are the write side. Both nil: nothing is ever changed
	// (ErrReadOnly).
	Writer     kernel.Writer
	FileWriter kernel.SettingsWriter
	Journal    *journal.Journal // nil = nothing is recorded and nothing can be undone
	Lock       journal.Lock     // nil = no other process changes the same
	Guards     Guards           // nil = nothing can be reverted by itself
	User       string           // for the journal: "root", "balu (sudo)"
	Command    string           // for the journal: argv, or the key's action
	Clock      Clock            // nil = the machine's
	// Daemon: the user has decided once for all plans, as of rules. Nobody reads a warning
	// then, so plans do not look for what to warn of, nor watch tasks that are to become
	// real-time.
	Daemon bool
	Rules  bool // piton rules run makes the changes
}

// Clock is the time.
type Clock interface {
	Now() time.Time
	Sleep(time.Duration)
}

type systemClock struct{}

func (systemClock) Now() time.Time        { return time.Now() }
func (systemClock) Sleep(d time.Duration) { time.Sleep(d) }

// Tuner plans changes, carries them out and undoes them. Its methods may be called
// from several goroutines at once.
type Tuner struct {
	*attr.Machine
	o Options
}

// New returns a Tuner.
func New(o Options) *Tuner {
	if o.Clock == nil {
		o.Clock = systemClock{}
	}
	return &Tuner{Machine: attr.NewMachine(o.Sources), o: o}
}

// Local returns a Tuner of this machine without a journal, for processes that end
// by themselves, such as those of a benchmark.
func Local() *Tuner {
	return New(Options{Writer: kernel.SystemWriter(), FileWriter: kernel.SystemFiles()})
}

// ErrNotLive is Plan's error for a Processes that is not this machine's.
var ErrNotLive = errors.New("tuning works on this machine only, not on a host root read from elsewhere")

// ErrReadOnly is Apply's error of a Tuner that was given no write side.
var ErrReadOnly = errors.New("piton is in read-only mode and changes nothing (--readonly, PITON_READONLY)")

// Value reads one attribute of a thread.
func (t *Tuner) Value(a attr.Attribute, tid kernel.TID) (attr.Value, error) {
	return t.Read(a, attr.Object{PID: tid, TID: tid})
}

// Entries returns the journal's entries, none without a journal.
func (t *Tuner) Entries() ([]Entry, []journal.Damage, error) {
	if t.o.Journal == nil {
		return nil, nil, nil
	}
	return t.o.Journal.Entries()
}

// Guards starts guards and ends them; guard.Launcher is the real one. A guard is
// told every line that the journal gets, before the changes that the line announces
// are made.
type Guards interface {
	// Arm starts a guard for a change that is about to be made, which reverts it the
	// given time after its end unless somebody confirms it.
	Arm(after time.Duration) (Guard, error)
	// List returns the guards of the journal that have not decided.
	List() ([]history.GuardState, error)
	// Undone ends the guards of entries of which nothing is left in force, and returns the entries
	// of those that had not begun to revert. One that had has ended by then, or takes too long.
	Undone(entries []uint64) (idle []uint64, err error)
}

// Guard is a guard that was started by this process.
type Guard interface {
	// Tell passes a line of the journal on. The error Is ErrTooLate when the guard
	// has begun to revert.
	Tell(line []byte) error
	// Keep confirms the change; ErrTooLate as for Tell.
	Keep() error
	// Stands is nil while the change is being made; ErrTooLate when the guard has begun to
	// revert it, ErrUndone when an undo has done so, another error when its process has ended.
	Stands() error
	// Dismiss ends the guard: there is nothing to revert.
	Dismiss() error
	// Words say, a sentence each, what the guard is and what it could not have.
	Words() []string
	Status() GuardStatus
}

// GuardStatus is what can be seen of a guard.
type GuardStatus struct {
	PID     int           `json:"pid"`
	Entry   uint64        `json:"entry"`             // of the journal; 0 while nothing has been begun
	After   time.Duration `json:"after_ns"`          // from the end of the change until it is reverted
	Caveats []string      `json:"caveats,omitempty"` // what it could not have, in sentences
}

// What the caveats begin with that say that real-time tasks may run before the guard.
const (
	CaveatNotDeadline = "not DEADLINE"
	CaveatPriority    = "real-time priority only"
	CaveatOrdinary    = "no real-time priority"
)

// Fails says why a guard may be too late to revert these changes, where what it could not
// have is what they would need it for; else "".
func (s GuardStatus) Fails(changes []Change) string {
	const deadline = 100 // above every other priority
	prio, why := deadline, ""
	for _, c := range s.Caveats {
		now := prio
		switch {
		case strings.HasPrefix(c, CaveatOrdinary):
			now = 0
		case strings.HasPrefix(c, CaveatPriority):
			_, _ = fmt.Sscanf(c[len(CaveatPriority):], "%d", &now)
		case strings.HasPrefix(c, CaveatNotDeadline):
			now = deadline - 1
		}
		if now < prio {
			prio, why = now, c
		}
	}
	for _, c := range changes {
		if c.Attribute != attr.Policy || c.Status != attr.Done || prio == deadline {
			continue
		}
		if p := attr.PolicyOf(c.After); p.Policy == kernel.Deadline || p.Policy.RealTime() && p.RTPrio >= prio {
			return fmt.Sprintf("the guard may be late, as %s %d can run before it: %s", attr.Printable(c.Comm), c.TID, why)
		}
	}
	return ""
}

// ErrUndone is the error of a trial whose entry somebody has undone.
var ErrUndone = errors.New("undone by somebody else meanwhile")

// ErrTooLate is the error of a confirmation after the guard has begun to revert.
var ErrTooLate = errors.New("the guard has begun to revert the change")
