package guard

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"piton/internal/change"
)

// lostAfter is how old a guard's last beat may be. It beats once a second, and more
// often while it waits.
const lostAfter = 1500 * time.Millisecond

// List returns the guards of a journal that have not decided, the next to act first.
// It waits for nobody. What guards leave that have, is cleared away.
func (l Launcher) List() ([]change.GuardState, error) {
	all, err := l.pages()
	if err != nil {
		return nil, fmt.Errorf("look for guards: %w", err)
	}
	var out []change.GuardState
	for _, p := range all {
		if a, ok := l.look(p); ok {
			out = append(out, a)
		}
		p.close()
	}
	slices.SortFunc(out, func(a, b change.GuardState) int {
		return cmp.Or(cmp.Compare(a.Left, b.Left), cmp.Compare(a.Entry, b.Entry))
	})
	return out, nil
}

func (l Launcher) look(p *page) (change.GuardState, bool) {
	there, stopped := p.alive()
	state, entry := p.state(), p.word(wordEntry).Load() // as an ended guard has left them
	if !there && (p.word(wordPID).Load() != 0 || p.host.old(p)) && (entry == 0 || state == Kept || state == Undone || state == Reverted) {
		p.host.remove(p)
		return change.GuardState{}, false
	}
	if p.text(textsBegin, journalEnd) != l.Journal || entry == 0 || state == Kept || state == Undone || state == Reverted {
		return change.GuardState{}, false
	}
	a := change.GuardState{
		PID: int(p.word(wordPID).Load()), Entry: entry, State: state.String(), Command: p.text(journalEnd, commandEnd),
		Lost: !there, Stopped: stopped || there && !p.elsewhere && p.host.now()-time.Duration(p.word(wordBeat).Load()) > lostAfter,
	}
	switch {
	case a.Lost:
		a.State = "lost"
	case a.Stopped:
		a.State = "stopped"
	}
	if due := time.Duration(p.word(wordDue).Load()); due > 0 {
		a.Left = max(0, due-p.host.now())
	}
	if caveats := p.text(commandEnd, pageSize); caveats != "" {
		a.Caveats = strings.Split(caveats, "\n")
	}
	return a, true
}

// ErrMaking is the error of who confirms a change that is still being made.
var ErrMaking = errors.New("the change is still being made")

// Keep confirms an entry: what it changed stays. The error Is change.ErrTooLate when
// the guard has begun to revert it, and ErrNotArmed when there is none.
func (l Launcher) Keep(entry uint64) error {
	err := ErrNotArmed
	l.each([]uint64{entry}, func(p *page) { err = p.keep() })
	return err
}

// ErrNotArmed is the error for an entry that no guard waits to revert.
var ErrNotArmed = errors.New("no guard waits to revert it")

func (p *page) keep() error {
	switch {
	case p.become(Waiting, Kept):
		if there, _ := p.alive(); !there {
			p.host.remove(p)
		}
		return nil
	case p.state() == Making:
		return ErrMaking
	case p.state() == Kept:
		return nil
	}
	if there, _ := p.alive(); !there && p.state() == Reverting {
		return errHalf
	}
	return change.ErrTooLate
}

// errHalf is the error of who confirms a change whose guard was killed in the middle.
var errHalf = errors.New("its guard ended while it reverted it; piton undo reverts the rest")

// Undone ends the guards of entries of which nothing is left in force.
func (l Launcher) Undone(entries []uint64) error {
	return l.each(entries, func(p *page) {
		for _, from := range []State{Waiting, Making, Reverting} {
			if there, _ := p.alive(); p.become(from, Undone) && !there {
				p.host.remove(p)
			}
		}
	})
}

// each calls f with the pages of some entries of the journal.
func (l Launcher) each(entries []uint64, f func(*page)) error {
	all, err := l.pages()
	for _, p := range all {
		if slices.Contains(entries, p.word(wordEntry).Load()) && p.text(textsBegin, journalEnd) == l.Journal {
			f(p)
		}
		p.close()
	}
	return err
}
