package guard

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"piton/internal/kernel"
	"piton/internal/tune"
)

const (
	// passesMost bounds how often it is looked for what inherited a value, and how
	// often what failed is tried again.
	passesMost = 20
	// pause is how long a guard waits before it tries again what failed.
	pause = 50 * time.Millisecond
	// lingerTime bounds how long a guard waits for a piton that is still making
	// changes when they have been taken back.
	lingerTime = 30 * time.Second
	// turnStep is how often a guard looks whether what a newer change holds can be
	// taken back.
	turnStep = time.Second / 2
)

// revert takes the change back. A piton that has not finished making it may make
// one more of its changes meanwhile; so that is looked for when it has ended.
func (s *sentry) revert(why string) {
	last := s.status()
	last.State, last.Left = Late, 0
	s.door.shut(last)
	s.late = true
	why = fmt.Sprintf("piton guard: entry %d is taken back, %s", s.entry.ID, why)
	s.takeBack(why, true)
	linger := time.After(lingerTime)
	for !s.entry.Finished && s.told != nil {
		select {
		case m, ok := <-s.told:
			s.hearLate(m, ok)
			if !ok || s.entry.Finished {
				s.takeBack(why, false)
			}
		case <-linger:
			return
		}
	}
	s.awaitTurn(why)
}

// hearLate takes a message of the parent, or its end.
func (s *sentry) hearLate(m message, ok bool) {
	if !ok {
		s.told = nil
		return
	}
	s.hear(m)
}

// awaitTurn tries again when guards of newer changes have ended: what they take
// back to is what this one has left alone, and nobody else would take that back.
// What they leave in force, because it was confirmed, stays.
func (s *sentry) awaitTurn(why string) {
	var newer []uint64
	unanswered := time.Duration(0)
	for looked := false; s.left && (!looked || len(newer) > 0) && unanswered < lingerTime; {
		select {
		case m, ok := <-s.told:
			s.hearLate(m, ok)
			continue
		case <-time.After(turnStep):
		}
		now, err := s.newer()
		if err != nil { // one that waits itself may answer yet, but two may wait for each other
			unanswered += turnStep
			continue
		}
		unanswered = 0
		if !looked || !slices.Equal(now, newer) {
			s.takeBack(why, false)
		}
		newer, looked = now, true
	}
}

// newer returns the entries after this one that have guards.
func (s *sentry) newer() ([]uint64, error) {
	var out []uint64
	armed, err := List(Dir(s.order.Journal))
	for _, a := range armed {
		if a.Entry > s.entry.ID {
			out = append(out, a.Entry)
		}
	}
	slices.Sort(out)
	return out, err
}

// drifted reports whether something was left alone because it is not what the
// change under guard made it.
func drifted(r tune.Result) bool {
	return slices.ContainsFunc(r.Changes, func(c tune.Change) bool { return c.Status == tune.Refused && c.Err == nil })
}

// takeBack goes back first, and records it when the machine is its users' again:
// the first time in any case, later if there was something left.
func (s *sentry) takeBack(why string, first bool) {
	plan, result, err := s.back(context.Background(), tune.New(tune.Options{}), s.entry)
	t, left := tune.New(tune.Options{Journal: s.journal, User: s.order.User, Command: why}), drifted(result)
	if err == nil && (first || s.left && !left || result.Count(tune.Done)+result.Count(tune.Failed) > 0) {
		// A journal that cannot be written leaves nobody to tell: the state is right.
		_, _ = t.Record(plan, result)
	}
	s.left = left
}

// back applies the way back until nothing is left of it: first what was changed,
// at once; then what was born meanwhile and inherited a value. It returns the plan
// for what was changed, and everything that was done.
func (s *sentry) back(ctx context.Context, t *tune.Tuner, entry tune.Entry) (plan tune.Plan, all tune.Result, err error) {
	for pass := range passesMost {
		since := uint64(0)
		if pass > 0 {
			since = s.born
		}
		p, planErr := t.PlanRevert(ctx, entry, since)
		r, applyErr := t.Apply(ctx, p)
		if err = errors.Join(planErr, applyErr); err != nil {
			kernel.Sleep(pause)
			continue
		}
		if plan.Undoes == nil {
			plan, all = p, r
			continue
		}
		done, failed := r.Count(tune.Done), r.Count(tune.Failed)
		for _, c := range r.Changes {
			if c.Status == tune.Done || c.Status == tune.Failed && pass == passesMost-1 {
				all.Changes = append(all.Changes, c) // the later of two is what counts
			}
		}
		if done+failed == 0 {
			break
		}
		if failed > 0 {
			kernel.Sleep(pause)
		}
	}
	return plan, all, err
}

// rehearse takes back a change of the guard itself that changes nothing, so that
// all it will need has been used once: program, memory and files are then there.
func (s *sentry) rehearse() {
	self := kernel.TID(os.Getpid())
	s.entry = tune.Entry{ID: 1, Finished: true, Targets: []tune.Target{{TID: self, StartTicks: s.born}}, Changes: []tune.Change{
		{PID: self, TID: self, StartTicks: s.born, Attribute: tune.Nice, Before: "0", After: "0", Status: tune.Done}}}
	_, _, _ = s.back(context.Background(), tune.New(tune.Options{}), s.entry)
	s.entry = tune.Entry{}
	runtime.GC()
}
