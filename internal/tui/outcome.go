package tui

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/history"
	"piton/internal/field"
	"piton/internal/tui/dialog"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// takePlan carries a plan out. It asks first only where the plan touches more than the
// tagged or selected rows, or cannot be undone, or takes a machine away: what z undoes is
// made at once.
func (cs *changes) takePlan(r request, err error) tea.Cmd {
	ready := len(attr.Only(r.Changes, attr.Planned))
	if ready == 0 && r.Undo != nil { // the next undo is about another entry
		cs.forget(r.Undo.IDs, false)
	}
	switch {
	case err != nil && r.Include != "": // root's journal may have the isolate
		return cs.offerSudo(r, err.Error())
	case err != nil:
		return tea.Batch(cs.over(&r), cs.say(bad, r.What+": "+err.Error()))
	case ready == 0:
		return tea.Batch(cs.over(&r), cs.nothingToDo(r))
	}
	for _, c := range r.Choices {
		if c.Warning != "" {
			r.Warnings = append(r.Warnings, change.Note(c.Warning))
		}
	}
	if !r.whole && !r.AsksFirst() && !r.OneWay() && !r.wide() {
		return cs.applyPlan(r)
	}
	title := "Apply?"
	if r.whole || r.wide() {
		title = strings.ToUpper(r.What[:1]) + r.What[1:] + " " + r.Subject + "?"
	}
	d := dialog.NewConfirmPlan(title, r.Plan).Add(stayingLines(r.Isolation))
	if cs.bySudo(&r) {
		d.Add([]dialog.Line{sudoLine})
	}
	return cs.dialogs.PushUnasked(d, func(o dialog.Outcome) tea.Cmd {
		if o.Canceled {
			return tea.Batch(cs.over(&r), cs.say(info, r.What+": nothing was changed"))
		}
		r.yes = true
		return cs.applyPlan(r)
	})
}

// mostUnasked is of how many processes attributes are set without a question: a key that
// nobody meant, on rows that were tagged long ago, is more to look through than z.
const mostUnasked = 5

// wide reports whether a plan sets attributes of more processes than that.
func (r *request) wide() bool { return len(r.Targets) > 0 && r.Processes() > mostUnasked }

func (cs *changes) nothingToDo(p request) tea.Cmd {
	refused := slices.IndexFunc(p.Changes, func(c change.Change) bool { return c.Status == attr.Refused })
	switch {
	case refused >= 0:
		return cs.failed(p, p.Changes[refused], "", !errors.Is(p.Changes[refused].Err, attr.ErrNotPermitted))
	case len(p.Changes) > 0 && p.Changes[0].Why() != "":
		return cs.say(info, p.What+": "+p.Changes[0].Why())
	case len(p.Changes) > 0:
		c := p.Changes[0]
		return cs.say(info, fmt.Sprintf("%s: %s of %s is %s already%s", p.What, c.Attribute.Title(), dialog.Who(p.Changes), c.After, because(&p)))
	case len(p.Warnings) > 0:
		return cs.say(info, p.What+": "+p.Warnings[0].Text)
	}
	return cs.say(info, p.What+": nothing to change")
}

// because is the reason for the CPUs chosen, with what leads to it.
func because(p *request) string {
	if len(p.Choices) == 0 || p.Choices[0].Reason == "" {
		return ""
	}
	return ": " + p.Choices[0].Reason
}

// failed says why a change was not made; sudo is offered where it could make it.
func (cs *changes) failed(p request, c change.Change, more string, final bool) tea.Cmd {
	if !final {
		return cs.offerSudo(p, c.Why())
	}
	who := dialog.Who([]change.Change{c})
	if c.Comm == "" && p.Subject != "" && p.Processes() <= 1 { // it had ended before anybody could read its name
		who = p.Subject
	}
	return cs.say(bad, fmt.Sprintf("%s %s: %s%s", p.What, who, c.Why(), more))
}

// takeOutcome says what was done. What may take the machine away is kept only if the
// user says so in time.
func (cs *changes) takeOutcome(a result) tea.Cmd {
	cs.note(a)
	if a.outcome.Changed() {
		cs.why.Changed(cmp.Or(a.shown, a.command(), a.What))
	}
	cs.deps.Sampler.Refresh()
	cmds := []tea.Cmd{cs.journalChanged(), cs.checkUndo(), cs.lookAtGuards()}
	if a.err != nil {
		return tea.Batch(append(cmds, cs.over(&a.request), cs.sayError(a))...)
	}
	cs.nice.done = cs.nice.done || a.step && !a.root // no step waits for one that sudo made
	done := a.outcome.Count(attr.Done)
	if c, failed := a.outcome.FirstBad(); failed {
		more := ""
		if done > 0 {
			more = fmt.Sprintf(" (%d of %d were done)", done, len(a.outcome.Changes))
		}
		cmds = append(cmds, cs.failed(a.request, c, more, a.root || done > 0 || !errors.Is(c.Err, attr.ErrNotPermitted)))
	} else if a.outcome.Guard == nil {
		cmds = append(cmds, cs.say(a.tone(), a.sentence(cs.th.Arrow)))
		cs.notice.command = a.command()
		cs.command = cmp.Or(cs.notice.command, cs.command)
	}
	switch {
	case a.outcome.Guard != nil:
		cmds = append(cmds, cs.askKeep(a))
	case a.then != nil && done > 0:
		cmds = append(cmds, a.then())
	}
	return tea.Batch(cmds...)
}

// sayError says why nothing was carried out, or not all.
func (cs *changes) sayError(a result) tea.Cmd {
	switch {
	case a.root:
		return cs.refusedBySudo(a)
	case a.outcome.Guard != nil:
		return cs.say(bad, fmt.Sprintf("%s: %v; what was done is reverted in %v", a.What, a.err, guardTime))
	}
	return cs.say(bad, a.What+": "+a.err.Error())
}

// command is the command line that would do the same; "" if there is none.
func (a *result) command() string {
	switch {
	case a.Partitions():
		return "piton " + a.What + " " + a.Isolate + a.Include
	case a.Undo != nil:
		return ""
	}
	return strings.Join(action.Commands(a.Targets, attr.Only(a.outcome.Changes, attr.Done)), "; ")
}

// tone is good if all is well.
func (a *result) tone() tone {
	if a.outcome.Verdict() != change.AllDone {
		return bad
	}
	return good
}

// sentence says what a job did: "pin: affinity of nqueens (3641) 0-7 → 5: 1% busy…".
func (a *result) sentence(arrow string) string {
	done := attr.Only(a.outcome.Changes, attr.Done)
	switch {
	case len(done) == 0 && len(a.outcome.Changes) > 0 && a.outcome.Changes[0].Why() != "": // it has ended
		return a.What + ": " + a.outcome.Changes[0].Why()
	case len(done) == 0:
		return a.What + ": already set"
	case a.Partitions():
		return a.divided(dialog.Who(done))
	}
	c := done[0]
	text := fmt.Sprintf("%s %s %s (was %s)", dialog.Who(done), arrow, c.Attribute.Words(c.After), history.OrNone(c.Before))
	if slices.ContainsFunc(done, func(o change.Change) bool {
		return o.Attribute != c.Attribute || !o.Attribute.Alike(o.Before, c.Before) || !o.Attribute.Alike(o.After, c.After)
	}) {
		text = fmt.Sprintf("%s: %s set", dialog.Who(done), titles(done))
	}
	if a.Undo != nil {
		text = a.What + ": " + text
	}
	if a.outcome.Newborn > 0 {
		text += fmt.Sprintf(" (%d of them born meanwhile)", a.outcome.Newborn)
	}
	text += because(&a.request)
	if a.root {
		text += " (through sudo)"
	}
	for _, w := range a.news() {
		text += "; " + w
	}
	return text
}

func titles(changes []change.Change) string {
	var names []string
	for _, c := range changes {
		if name := c.Attribute.Title(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// news are the warnings that the user has not been shown, by the plan or the question
// whether to keep it.
func (a *result) news() []string {
	told := map[string]bool{}
	for _, n := range a.Needs {
		told[n.Text] = true
	}
	for _, w := range a.Warnings {
		told[w.Text] = a.yes
	}
	news := slices.DeleteFunc(change.Texts(a.outcome.Warnings), func(w string) bool { return told[w] })
	if a.outcome.Unrecorded != nil {
		news = append(news, "the journal does not know all of it: "+a.outcome.Unrecorded.Error())
	}
	return news
}

const (
	messageStays = 8 * time.Second // when no key is pressed
	noticeMost   = 4               // lines that it takes at most
)

// tone is how a message is meant.
type tone uint8

const (
	info tone = iota
	good
	bad
)

// notice is the message on the line above the key bar.
type notice struct {
	text    string
	command string // a command line that does what the message says was done; see copyCommand
	tone    tone
	serial  int
}

// saying is the message of a command that goes on with a notice; see handle.
func (s *shared) saying(t tone, text string) tea.Msg { return func() tea.Cmd { return s.say(t, text) } }

// say shows a message until a key or messageStays.
func (s *shared) say(t tone, text string) tea.Cmd {
	s.notice = notice{text: string(field.AppendClean(nil, text, s.th.ASCII)), tone: t, serial: s.notice.serial + 1}
	serial := s.notice.serial
	return tea.Tick(messageStays, func(time.Time) tea.Msg {
		return func() tea.Cmd {
			if serial == s.notice.serial {
				s.clearNotice()
			}
			return nil
		}
	})
}

func (s *shared) clearNotice() { s.notice.text, s.notice.command = "", "" }

// lines draws the message, wrapped where it is longer than the screen is wide;
// nil when there is none.
func (n *notice) lines(width int, th *theme.Theme) []string {
	if n.text == "" {
		return nil
	}
	style := map[tone]theme.Style{info: th.Strong, good: th.Good, bad: th.Bad}[n.tone]
	var out []string
	for _, l := range widget.Wrap(n.text, max(1, width-2)) {
		out = append(out, widget.Fit(" "+style.Render(l), width, th.Ellipsis))
	}
	most := noticeMost
	if n.command != "" {
		most--
	}
	if len(out) > most {
		out = append(out[:most-1], widget.Fit(out[most-1], width-1, "")+th.Ellipsis)
	}
	if n.command != "" {
		keys := rows.Keys(th, "z", "undo", "y", "copy")
		line := widget.Cut(" "+th.Command+" "+n.command, max(width-keys.Width()-3, 1), th.Ellipsis)
		out = append(out, widget.Fit(th.Dim.Render(line)+"   "+keys.Render(th, width), width, th.Ellipsis))
	}
	return out
}

// copyCommand gives the command line below the last message to the terminal's clipboard
// (OSC 52, xterm's ctlseqs), and leaves the message.
func (m *Model) copyCommand() tea.Cmd {
	command := m.changes.command
	if study := m.bench.Command(); m.view == action.Bench && study != "" {
		command = study
	}
	if command == "" {
		return m.say(info, "there is no command to copy: make a change first")
	}
	return tea.Batch(tea.SetClipboard(command), m.say(info, "copied: "+command))
}
