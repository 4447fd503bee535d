package guard

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"piton/internal/change"
	"piton/internal/change/history"
	"piton/internal/kernel"
)

// lostAfter is how old a guard's last beat may be. It beats once a second, and more
// often while it waits.
const lostAfter = 1500 * time.Millisecond

// List returns the guards of a journal that have not decided, the next to act first.
// It does not wait. It removes the pages of guards that decided and ended.
func (l Launcher) List() ([]history.GuardState, error) {
	var out []history.GuardState
	err := l.each(func(p *page) {
		if g := p.look(); p.state() < Kept { // one that has ended meanwhile has decided before that
			out = append(out, g)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("look for guards: %w", err)
	}
	slices.SortFunc(out, func(a, b history.GuardState) int {
		return cmp.Or(cmp.Compare(a.Left, b.Left), cmp.Compare(a.Entry, b.Entry))
	})
	return out, nil
}

// each calls f with the page of every entry of the journal that has one.
func (l Launcher) each(f func(*page)) error {
	all, err := l.pages()
	for _, p := range all {
		if p.leftOver() {
			p.host.remove(p)
		} else if p.entry() != 0 && p.text(textsBegin, journalEnd) == l.Journal {
			f(p)
		}
		p.close()
	}
	return err
}

// leftOver reports whether the page is of no use any more: its guard has ended, or
// failed to start, with nothing left to revert.
func (p *page) leftOver() bool {
	starts := p.word(wordPID).Load() == 0 && (p.path == "" || p.sinceBeat() < 2*armTime) // before its process, which may just have started
	there, _ := p.alive()                                                                // before its state, which an ended guard does not change
	return !there && !starts && (p.entry() == 0 || p.state() >= Kept)
}

func (p *page) look() history.GuardState {
	there, stopped := p.alive()
	g := history.GuardState{
		PID: int(p.word(wordPID).Load()), Entry: p.entry(), State: p.state().String(),
		Command: p.text(journalEnd, commandEnd), Caveats: p.caveats(), Left: history.LeftUnknown,
		Lost: !there, Stopped: stopped, Making: there && !stopped && p.state() == Making, Waiting: there && !stopped && p.state() == Waiting,
	}
	switch {
	case g.Lost:
		g.State = "lost"
	case g.Stopped:
		g.State = "stopped"
	}
	if p.host.Namespaces()[1] == p.word(wordTimeNS).Load() { // else the guard's clock is another one
		g.Left = max(0, time.Duration(p.word(wordDue).Load())-p.host.Now())
	}
	return g
}

// alive reports whether the guard's process is there, and whether it is stopped. One
// in another PID or time namespace, where its number or its clock means something else
// than here, is taken to be there and to run.
func (p *page) alive() (there, stopped bool) {
	if !p.here() {
		return true, false
	}
	st, err := p.host.Stat(kernel.TID(p.word(wordPID).Load()))
	if err != nil || st.StartTicks != p.word(wordStart).Load() || st.State == 'Z' || st.State == 'X' {
		return false, false
	}
	return true, st.State == 'T' || st.State == 't' || p.sinceBeat() > lostAfter
}

func (p *page) here() bool {
	return p.host.Namespaces() == [2]uint64{p.word(wordPIDNS).Load(), p.word(wordTimeNS).Load()}
}

func (p *page) sinceBeat() time.Duration {
	return p.host.Now() - time.Duration(p.word(wordBeat).Load())
}

var (
	// ErrNotArmed is the error for an entry without a page of a guard.
	ErrNotArmed = errors.New("no guard is known: it was confirmed, or made without --revert-after, " +
		"or the user's runtime directory was removed")
	// ErrMaking is Keep's error while the change is still being made.
	ErrMaking = errors.New("the change is still being made")
	// errHalf is Keep's error for a guard that was killed while it reverted.
	errHalf = errors.New("the guard ended while it was reverting the change; piton undo reverts the rest")
)

// Keep confirms an entry: what it changed stays. The error Is change.ErrTooLate when
// the guard has begun to revert it, and ErrNotArmed when no guard is known.
func (l Launcher) Keep(entry uint64) error {
	err := ErrNotArmed
	pagesErr := l.each(func(p *page) {
		if p.entry() == entry {
			err = p.keep(Waiting)
		}
	})
	return cmp.Or(pagesErr, err)
}

// keep confirms the change in one of these states.
func (p *page) keep(from ...State) error {
	if p.decide(Kept, from...) {
		return nil
	}
	switch p.state() {
	case Kept:
		return nil
	case Making:
		return ErrMaking
	case Moved:
		return ErrNotArmed
	case Reverting:
		if there, _ := p.alive(); !there && p.state() == Reverting {
			return errHalf
		}
	}
	return change.ErrTooLate
}

// endTime bounds how long a guard that is reverting is waited for.
const endTime = 500 * time.Millisecond

// Undone ends the guards of entries of which nothing is left in force, and returns the entries of
// those that had not begun to revert. Those that had are waited for.
func (l Launcher) Undone(entries []uint64) (idle []uint64, err error) {
	err = l.each(func(p *page) {
		if !slices.Contains(entries, p.entry()) {
			return
		}
		if p.decide(Undone, Waiting, Making) {
			idle = append(idle, p.entry())
			return
		}
		busy := p.decide(Undone, Reverting)
		for end := p.host.Now() + endTime; busy && p.host.Now() < end; p.host.Sleep(step) {
			if there, stopped := p.alive(); !there || stopped {
				break
			}
		}
	})
	return idle, err
}

// newer returns what returns the entries after a page's whose guards run and have not
// decided. Whether one in another namespace runs is not known.
func (l Launcher) newer(p *page) func() []uint64 {
	return func() (out []uint64) {
		_ = l.each(func(o *page) {
			if there, _ := o.alive(); there && o.here() && o.state() < Kept && o.entry() > p.entry() {
				out = append(out, o.entry())
			}
		})
		return out
	}
}
