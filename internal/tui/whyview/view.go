// Package whyview is the pane that says why processes wait for a CPU, as piton why does, over the
// last seconds; a row's remedy is carried out from it, and judged by what the waits were before
// and after.
//
// It changes nothing itself: it says what its owner is to ask for. It observes while it is shown
// only. Start at View; watch.go observes, judge.go compares.
package whyview

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/change"
	"piton/internal/group"
	"piton/internal/kernel"
	"piton/internal/tui/list"
	"piton/internal/tui/live"
	"piton/internal/watch"
	"piton/internal/why"
	"piton/internal/why/page"
)

// Session observes a target; session.Session is the real one.
type Session interface {
	Look() (left bool, err error) // to be called each facts.Every
	Take() (why.Observation, *why.Target, error)
	Close()
}

// Options is what the view works with.
type Options struct {
	// Open begins to observe. It is called beside the screen; nil: only the machine that piton
	// runs on can be observed, and this is another.
	Open     func(watch.Targets) (Session, error)
	ReadOnly bool // nothing may be changed
}

// View is the pane; its list is of what was waited for.
type View struct {
	*list.List[key, page.Row]
	o       Options
	targets []change.Target
	subject string
	job     *live.Job[seen] // nil before the first
	seen
	answer *why.Answer // nil before the first span
	most   int         // rows of it, the last for the rest
	trial  *trial      // of the last change that was made meanwhile, nil without one
}

// key names a row for as long as the pane is shown.
type key struct {
	kind, group, command string
	pid                  kernel.TID
}

// Help explains the pane.
var Help = []string{
	"The causes: what had the CPU while the process could have run. ms/s a thread is CPU Ready of VMware's administrators.",
	"Enter runs the command of the selected cause; what it does to others is shown first. z undoes it.",
	fmt.Sprintf("effect: medians of the seconds before a change and of the %d after it, judged once these are over (rank test). "+
		"They do not alternate: other load may have changed, too.", enough),
}

// New returns the pane, about nothing.
func New(o Options) *View {
	return &View{o: o, List: newList(), most: mostRows}
}

func newList() *list.List[key, page.Row] {
	l := list.New(keyOf, "", columns(false, 0)...)
	l.Draws = draws
	return l
}

func keyOf(r page.Row) key {
	k := key{kind: r.Kind + r.Cause.String()}
	switch r.Cause {
	case why.Neighbour:
		if k.group = r.Group; r.Beside == "" {
			k.command = r.Command
		}
	case why.Limit:
		k.group = r.Group
	case why.RealTime:
		k.pid = r.PID
	}
	return k
}

// Choose says whom the pane is about when it is shown next.
func (v *View) Choose(targets []change.Target, subject string) {
	v.targets, v.subject = targets, subject
}

// Open begins to observe.
func (v *View) Open() tea.Cmd {
	v.Leave()
	*v = View{List: newList(), most: mostRows, o: v.o, targets: v.targets, subject: v.subject}
	if v.o.Open == nil || len(v.targets) == 0 {
		return nil
	}
	j, of := live.New[seen](), v.watched()
	v.job = j
	return tea.Batch(func() tea.Msg {
		j.Work(observing(func() (Session, error) { return v.o.Open(of) }))
		return nil
	}, v.next(j))
}

func (v *View) next(j *live.Job[seen]) tea.Cmd {
	return func() tea.Msg {
		s, ok := j.Next()
		if !ok {
			return nil
		}
		return func() tea.Cmd {
			if v.job == j {
				v.take(s)
			}
			return v.next(j)
		}
	}
}

// Leave ends observing.
func (v *View) Leave() {
	if v.job != nil {
		v.job.End(nil)
		v.job = nil
	}
}

// Stop is Leave, and waits until it is so. It is called when the program ends.
func (v *View) Stop() {
	if j := v.job; j != nil {
		v.job = nil
		j.Stop()
	}
}

// watched is the targets as they are observed.
func (v *View) watched() watch.Targets {
	t := watch.Targets{IDs: group.Each(v.targets, func(t change.Target) kernel.TID { return t.TID })}
	if v.targets[0].Scope == change.ScopeThread {
		t.Scope = watch.Thread
	}
	return t
}

// take shows what was seen. After a change only what began after it counts.
func (v *View) take(s seen) {
	v.seen = s
	spans := s.spans
	if v.trial != nil {
		v.trial.look(s.figures)
		for len(spans) > 0 && spans[0].began().Before(v.trial.at) {
			spans = spans[1:]
		}
	}
	if len(spans) == 0 {
		return
	}
	sum := why.Sum(group.Each(spans, func(s span) why.Span { return s.Span })...)
	t := sum.Target
	t.Name, t.Words, t.Flags = v.subject, nil, nil
	for _, of := range v.targets {
		t.Words = append(t.Words, fmt.Sprint(of.TID))
	}
	if v.targets[0].Scope == change.ScopeThread {
		t.Flags = []string{"--thread"}
	}
	v.answer = why.Explain(sum.Observation, t)
	v.relist()
}

// Changed says that something was changed: what was seen so far is compared with what comes.
func (v *View) Changed(what string) {
	if v.job != nil && what != "" {
		v.trial = v.trial.follow(what, time.Now(), v.figures)
	}
}

// Count is the number of rows that are selected: one, or none where there are none.
func (v *View) Count() int { return min(v.Len(), 1) }

// Remedy is what the selected row's command asks for, and the command as it is shown; it says why there
// is none.
func (v *View) Remedy() (r action.Remedy, command, none string) {
	row, ok := v.Selected()
	switch {
	case !ok:
		return r, "", "no cause is selected"
	case row.Remedy.Set == nil && row.Remedy.Text == why.None:
		return r, "", "there is no command against it"
	case row.Remedy.Set == nil:
		return r, "", "there is no command against it: " + row.Remedy.Text
	}
	return action.Remedy{Setting: row.Remedy.Set, Targets: v.targets, Threads: v.answer.Target.Threads, Subject: v.subject,
		Reason: v.subject + " waits: " + row.Name}, row.Remedy.Text, ""
}
