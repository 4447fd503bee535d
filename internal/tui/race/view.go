// Package race is the screen of a search for the placement of processes: the candidates
// as a race, each with its effect on one axis, who is out and why, and the time left.
//
// It changes nothing itself: a Search does, in a command. Start at View.
package race

import (
	"context"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"piton/internal/auto"
	"piton/internal/tui/list"
	"piton/internal/tui/live"
)

// Search searches until it has decided or ctx ends, and tells its steps. The last state is
// told and returned.
type Search func(ctx context.Context, tell func(auto.State)) (auto.State, error)

// View is the screen; its list is of the candidates, by their number.
type View struct {
	*list.List[int, row]
	auto.State
	subject string
	job     *live.Job[auto.State] // nil before the first
	ended   bool
	err     error // with which it ended
	leads   int   // where the cursor is unless the user has moved it
	axis    axis
}

// New returns the screen before any search.
func New() *View {
	return &View{ended: true, List: newList()}
}

// Begin searches for the processes that subject names. done makes the message of its end,
// which has to be given to Take.
func (v *View) Begin(subject string, search Search, done func(auto.State, error) tea.Msg) tea.Cmd {
	j := live.New[auto.State]()
	*v = View{List: newList(), subject: subject, job: j}
	return tea.Batch(func() (msg tea.Msg) {
		last, err := auto.State{}, context.Canceled
		j.Work(func(ctx context.Context, tell func(auto.State)) { last, err = search(ctx, tell) })
		return done(last, err)
	}, v.next(j))
}

// Step is the message of a step: only this screen shows it.
type Step func() tea.Cmd

func (v *View) next(j *live.Job[auto.State]) tea.Cmd {
	return func() tea.Msg {
		s, ok := j.Next()
		if !ok {
			return nil
		}
		return Step(func() tea.Cmd {
			if v.job == j && !v.ended {
				v.show(s)
			}
			return v.next(j)
		})
	}
}

// Take shows how the search has ended.
func (v *View) Take(last auto.State, err error) {
	v.ended, v.err = true, err
	if last.Found != nil {
		last.Now = last.Found.Result
	}
	v.show(last)
}

// show takes a state. The cursor goes with the leader until the user moves it.
func (v *View) show(s auto.State) {
	follows := v.At() == v.leads
	v.State = s
	all := make([]row, len(s.Candidates))
	for i := range all {
		all[i] = row{v, i}
	}
	v.axis = axis{}
	v.Load(all, false)
	if v.leads = v.Leader(); follows {
		v.Select(v.leads)
	}
}

// Open is called when the screen is shown.
func (v *View) Open() tea.Cmd { return nil }

// Running reports whether a search is under way.
func (v *View) Running() bool { return !v.ended }

// Keep has the candidate under the cursor kept at once; it says why that cannot be.
func (v *View) Keep() (why string) {
	switch {
	case len(v.Now.Candidates) == 0:
		return "nothing has been tried yet"
	case v.At() == 0:
		return "no candidate leads: select one with the arrows; Esc ends the search"
	}
	v.job.End(auto.KeepNow{Candidate: v.At()})
	return ""
}

// Restore ends the search; everything is as before then.
func (v *View) Restore() {
	if v.Running() {
		v.job.End(nil)
	}
}

// Stop is Restore, and waits until it is so. It is called when the program ends.
func (v *View) Stop() {
	if v.Running() {
		v.job.Stop()
	}
}

// Progress is how far the search is, in few words; "" if none is under way.
func (v *View) Progress() string {
	switch {
	case !v.Running():
		return ""
	case v.Now.Periods == 0:
		return "looking at load and wakeups"
	}
	return fmt.Sprintf("%d of %d periods", v.Now.Periods, v.Now.Budget)
}
