package guard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/history"
	"piton/internal/change/journal"
	"piton/internal/kernel"
)

const (
	// step is how often a guard looks at its clock and its page.
	step = 50 * time.Millisecond
	// calmStep is that while its piton lives: what it says, and its end, wake the guard.
	calmStep = 200 * time.Millisecond
	// beatTime is how often it looks after its threads.
	beatTime = time.Second
	// recordTime bounds how long it is tried to record a revert while another piton,
	// perhaps a stopped one, holds the journal.
	recordTime = 30 * time.Second
	// turnTime is how often a guard looks whether what a newer change holds can be
	// reverted.
	turnTime = time.Second / 2
)

// sentry is the state of a guard. It has one thread, which waits for no other process.
type sentry struct {
	page    *page
	born    uint64                             // start of this process: what inherits a changed value started later, if the entry does not say
	parent  Link                               // to the piton that started it
	bare    *change.Tuner                      // without a journal
	record  func(command string) *change.Tuner // with one
	newer   func() []uint64                    // entries after this one whose guards have not decided
	keepUp  func()                             // looks after the threads of the process
	caveats []string

	terminated atomic.Bool
	gone       bool   // the parent has ended
	rest       []byte // of what it said, a line without its end
	lines      []byte // of the journal, as told
	entry      journal.Entry
	kept       time.Duration     // when the threads were last looked after
	looked     time.Duration     // when it was last looked whether the tasks have ended
	left       bool              // something was left alone because it has drifted
	reverted   map[attr.Key]bool // what has one of these values again has it from somebody else
	unsettled  bool              // it has not been recorded that nothing of the entry is left
	pending    []attr.Change     // what may still be reverted: that, what failed but may not again, and what had its old value already
}

// watch waits for a decision, the deadline, or the death of the parent in the middle
// of the change.
func (s *sentry) watch() {
	for {
		s.beat()
		if state := s.page.state(); state == Kept || state == Undone || s.over() && s.page.become(Waiting, Undone) {
			return
		}
		if why := s.why(); why != "" && (s.page.become(Waiting, Reverting) || s.page.become(Making, Reverting)) {
			if s.entry.ID != 0 {
				s.revert(why)
			}
			s.page.become(Reverting, Reverted)
			return
		}
		s.listen(s.pause())
	}
}

// pause is how long there is nothing to look at, unless piton says something.
func (s *sentry) pause() time.Duration {
	due := time.Duration(s.page.word(wordDue).Load())
	if s.gone || due > 0 && due-s.page.host.Now() < calmStep {
		return step
	}
	return calmStep
}

// over reports whether all that could be reverted has ended. It looks once in beatTime.
func (s *sentry) over() bool {
	now := s.page.host.Now()
	if !s.entry.Finished || now-s.looked < beatTime {
		return false
	}
	s.looked = now
	return history.Ended(s.bare.Proc, &s.entry)
}

// beat shows that the guard runs.
func (s *sentry) beat() {
	now := s.page.host.Now()
	s.page.word(wordBeat).Store(uint64(now))
	if s.keepUp != nil && now-s.kept >= beatTime {
		s.kept = now
		s.keepUp()
	}
}

// why is the reason to revert now, "" for none.
func (s *sentry) why() string {
	due := time.Duration(s.page.word(wordDue).Load())
	switch {
	case s.terminated.Load():
		return "the guard was told to end by a signal"
	case s.gone && s.entry.ID == 0:
		return "nothing was begun"
	case s.gone && !s.entry.Finished:
		return "piton ended in the middle of making it"
	case due > 0 && s.page.host.Now() >= due:
		return fmt.Sprintf("it was not confirmed within %v", time.Duration(s.page.word(wordAfter).Load()))
	}
	return ""
}

// listen takes what the parent says within a time.
func (s *sentry) listen(most time.Duration) {
	if s.gone {
		s.page.host.Sleep(most)
		return
	}
	data, open := s.parent.Await(most)
	s.gone = !open
	s.rest = append(s.rest, data...)
	for {
		i := bytes.IndexByte(s.rest, '\n')
		if i < 0 {
			return
		}
		line := s.rest[:i+1]
		s.rest = s.rest[i+1:]
		s.parent.Answer(s.hear(line))
	}
}

// hear takes a line of the journal. The time runs from the beginning of the change,
// and again from its end: the user is to have all of it.
func (s *sentry) hear(line []byte) byte {
	lines := append(slices.Clip(s.lines), line...)
	entry, err := journal.FromLines(lines)
	if err != nil {
		return answerBad
	}
	if s.entry.ID == 0 || entry.Finished {
		s.page.word(wordDue).Store(uint64(s.page.host.Now()) + s.page.word(wordAfter).Load())
	}
	s.lines, s.entry = lines, entry
	s.page.setText(journalEnd, commandEnd, entry.Command)
	s.page.word(wordEntry).Store(entry.ID)
	if entry.Finished {
		s.page.become(Making, Waiting)
	}
	if s.page.state() == Reverting {
		return answerLate // so that the rest of it is not made
	}
	return answerOK
}

// revert reverts the change. A piton that has not finished making it may make more of
// its changes as long as it lives, also one that is stopped now; so those are looked for
// when it has ended.
func (s *sentry) revert(why string) {
	s.listen(0) // it may have got no CPU when piton said more
	s.back(why, true)
	for !s.entry.Finished && !s.gone && !s.undone() {
		s.beat()
		if s.listen(step); s.gone || s.entry.Finished {
			before := s.reverted
			if s.entry.Origin.Kind == journal.ByTrial {
				s.reverted = nil // it may have set a value once more
			}
			s.back(why, true) // and record that nothing is left of it
			maps.Copy(s.reverted, before)
			s.pending = slices.DeleteFunc(s.pending, func(c attr.Change) bool { return s.reverted[c.Key()] })
		}
	}
	s.awaitTurn(why)
}

// undone reports whether the entry has been undone by hand meanwhile: what has its
// value again has that from somebody else.
func (s *sentry) undone() bool { return s.page.state() == Undone }

// awaitTurn tries again when guards of newer changes have ended: what they revert to
// is what this one has left alone or not seen, and no other guard reverts that. What
// they leave in force, because it was confirmed, stays.
func (s *sentry) awaitTurn(why string) {
	waiting := s.newer()
	for len(s.pending) > 0 && len(waiting) > 0 && !s.undone() {
		s.beat()
		s.listen(turnTime)
		now := s.newer()
		if !slices.Equal(now, waiting) {
			s.back(why, false)
		}
		waiting = now
	}
	if len(s.pending) > 0 && !s.undone() {
		s.back(why, s.unsettled) // they may have ended before they were looked for
	}
}

// back reverts first, and records it when the machine is its users' again: the first
// time in any case, later if there was something left.
func (s *sentry) back(why string, first bool) {
	plan, result, err := s.apply(s.entry)
	s.pending = slices.DeleteFunc(slices.Clone(s.entry.Changes), func(c attr.Change) bool {
		return s.reverted[c.Key()] || slices.ContainsFunc(result.Changes, func(r attr.Change) bool {
			return r.Key() == c.Key() && (r.Gone() || r.Status == attr.Failed && s.bare.Barred(r) != nil)
		})
	})
	// More of it may be made, or be there again when newer changes are reverted.
	s.unsettled = result.Unsettled || !s.entry.Finished && !s.gone || len(s.pending) > 0 && len(s.newer()) > 0
	result.Unsettled = s.unsettled
	left := slices.ContainsFunc(result.Changes, func(c attr.Change) bool { return c.Status == attr.Refused && c.Err == nil })
	if err == nil && plan.Undoes != nil && (first || s.left && !left || result.Count(attr.Done)+result.Count(attr.Failed) > 0) {
		s.write(why, plan, result)
	}
	s.left = left
}

// write records a revert. A journal that cannot be written is not reported: the
// state is right.
func (s *sentry) write(why string, plan change.Plan, result change.Outcome) {
	plan.Origin = journal.Origin{Kind: journal.ByGuard, Why: why}
	command := journal.GuardCommand(s.entry.ID, why)
	for end := s.page.host.Now() + recordTime; s.page.host.Now() < end; s.page.host.Sleep(step) {
		s.beat()
		if _, err := s.record(command).Record(plan, result); !errors.Is(err, journal.ErrBusy) {
			return
		}
	}
}

// apply reverts the entry's changes, unless it has been undone by hand.
func (s *sentry) apply(e journal.Entry) (change.Plan, change.Outcome, error) {
	if s.reverted == nil {
		s.reverted = map[attr.Key]bool{}
	}
	return s.bare.Revert(context.Background(), e, s.reverted, func() bool { return s.undone() || s.restored() })
}

// restored reports whether a trial has put everything back itself, and recorded that: what has
// a value that it tried has that from somebody else, who came before this guard.
func (s *sentry) restored() bool {
	if s.entry.Origin.Kind != journal.ByTrial {
		return false
	}
	s.listen(0)
	return s.entry.Finished && len(attr.Only(s.entry.Changes, attr.Unchanged)) == len(s.entry.Changes)
}

// rehearse reverts a change of the guard itself that changes nothing, so that all it
// will need has been used once: program, memory and files are then there.
func (s *sentry) rehearse() {
	self := kernel.TID(os.Getpid())
	object := attr.Object{PID: self, TID: self, StartTicks: s.born}
	_, _, _ = s.apply(journal.Entry{ID: 1, Finished: true, Ticks: s.born, Targets: []change.Target{{TID: self, StartTicks: s.born}}, Changes: []attr.Change{
		{Object: object, Attribute: attr.Nice, Before: attr.NiceValue(0), After: attr.NiceValue(0), Status: attr.Done}}})
	runtime.GC()
}
