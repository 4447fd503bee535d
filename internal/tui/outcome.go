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
	"piton/internal/field"
	"piton/internal/tui/dialog"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// tuned takes the messages of changes on their way.
func (m *Model) tuned(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case planned:
		return m.takePlan(msg)
	case finished:
		return m.takeFinished(msg)
	case applied:
		return m.takeOutcome(msg)
	case resume:
		return msg(m)
	}
	return nil
}

// takePlan carries a plan out. It asks first only where the plan touches more than the
// tagged or selected rows, or cannot be undone, or takes a machine away: what z undoes is
// made at once.
func (m *Model) takePlan(p planned) tea.Cmd {
	ready := count(p.plan.Changes, attr.Planned)
	undo, isUndo := p.wish.(undoWish)
	if ready == 0 && isUndo { // the next undo is about another entry
		m.forget(undo.request.IDs, false)
	}
	division, ok := p.wish.(*partitionWish)
	switch {
	case p.err != nil && ok && division.include: // root's journal may have the isolate
		return m.offerSudo(p, p.err.Error())
	case p.err != nil:
		return tea.Batch(m.over(p.wish), m.say(bad, p.what+": "+p.err.Error()))
	case ready == 0:
		return tea.Batch(m.over(p.wish), m.nothingToDo(p))
	}
	for _, c := range p.choices {
		if c.Warning != "" {
			p.plan.Warnings = append(p.plan.Warnings, change.Note(c.Warning))
		}
	}
	if !p.whole && !p.plan.AsksFirst() && !p.plan.OneWay() && !p.wide() {
		return m.carryOut(p)
	}
	title := "Apply?"
	if p.whole || p.wide() {
		title = strings.ToUpper(p.what[:1]) + p.what[1:] + " " + p.subject + "?"
	}
	d := dialog.NewConfirmPlan(title, p.plan).Add(p.more)
	if m.bySudo(&p) {
		d.Add([]dialog.Line{sudoLine})
	}
	return m.dialogs.PushUnasked(d, func(o dialog.Outcome) tea.Cmd {
		if o.Canceled {
			return tea.Batch(m.over(p.wish), m.say(info, p.what+": nothing was changed"))
		}
		p.yes = true
		return m.carryOut(p)
	})
}

// mostUnasked is of how many processes attributes are set without a question: a key that
// nobody meant, on rows that were tagged long ago, is more to look through than z.
const mostUnasked = 5

// wide reports whether a plan sets attributes of more processes than that.
func (p *planned) wide() bool {
	switch p.wish.(type) {
	case tuneWish, stepWish:
		return p.plan.Processes() > mostUnasked
	}
	return false
}

// nothingToDo says why a plan changes nothing.
func (m *Model) nothingToDo(p planned) tea.Cmd {
	refused := slices.IndexFunc(p.plan.Changes, func(c change.Change) bool { return c.Status == attr.Refused })
	switch {
	case refused >= 0:
		return m.failed(p, p.plan.Changes[refused], "", !errors.Is(p.plan.Changes[refused].Err, attr.ErrNotPermitted))
	case len(p.plan.Changes) > 0 && p.plan.Changes[0].Why() != "":
		return m.say(info, p.what+": "+p.plan.Changes[0].Why())
	case len(p.plan.Changes) > 0:
		c := p.plan.Changes[0]
		return m.say(info, fmt.Sprintf("%s: %s of %s is %s already%s", p.what, c.Attribute.Title(), dialog.Who(p.plan.Changes), c.After, because(p)))
	case len(p.plan.Warnings) > 0:
		return m.say(info, p.what+": "+p.plan.Warnings[0].Text)
	}
	return m.say(info, p.what+": nothing to change")
}

// because is the reason for the CPUs chosen, with what leads to it.
func because(p planned) string {
	if len(p.choices) == 0 || p.choices[0].Reason == "" {
		return ""
	}
	return ": " + p.choices[0].Reason
}

// failed says why a change was not made; sudo is offered where it could make it.
func (m *Model) failed(p planned, c change.Change, more string, final bool) tea.Cmd {
	if !final {
		return m.offerSudo(p, c.Why())
	}
	who := dialog.Who([]change.Change{c})
	if c.Comm == "" && p.subject != "" && p.plan.Processes() <= 1 { // it had ended before anybody could read its name
		who = p.subject
	}
	return m.say(bad, fmt.Sprintf("%s %s: %s%s", p.what, who, c.Why(), more))
}

// takeOutcome says what was done. What may take the machine away is kept only if the
// user says so in time.
func (m *Model) takeOutcome(a applied) tea.Cmd {
	m.note(a)
	m.deps.Sampler.Refresh()
	cmds := []tea.Cmd{m.journalChanged(), m.checkUndo(), m.lookAtGuards()}
	if a.err != nil {
		return tea.Batch(append(cmds, m.over(a.wish), m.sayError(a))...)
	}
	_, isStep := a.wish.(stepWish)
	m.nice.done = m.nice.done || isStep && !a.root // no step waits for one that sudo made
	done := a.outcome.Count(attr.Done)
	if c, failed := a.outcome.FirstBad(); failed {
		more := ""
		if done > 0 {
			more = fmt.Sprintf(" (%d of %d were done)", done, len(a.outcome.Changes))
		}
		cmds = append(cmds, m.failed(a.planned, c, more, a.root || done > 0 || !errors.Is(c.Err, attr.ErrNotPermitted)))
	} else if a.outcome.Guard == nil {
		cmds = append(cmds, m.say(a.tone(), a.sentence(m.th.Arrow)))
		m.notice.command = a.command()
		m.command = cmp.Or(m.notice.command, m.command)
	}
	switch {
	case a.outcome.Guard != nil:
		cmds = append(cmds, m.askKeep(a))
	case a.then != nil && done > 0:
		cmds = append(cmds, a.then())
	}
	return tea.Batch(cmds...)
}

// sayError says why nothing was carried out, or not all.
func (m *Model) sayError(a applied) tea.Cmd {
	switch {
	case a.root:
		return m.refusedBySudo(a)
	case a.outcome.Guard != nil:
		return m.say(bad, fmt.Sprintf("%s: %v; what was done is reverted in %v", a.what, a.err, guardTime))
	}
	return m.say(bad, a.what+": "+a.err.Error())
}

// command is the command line that would do the same; "" if there is none.
func (a *applied) command() string {
	var targets []change.Target
	switch w := a.wish.(type) {
	case orderedWish:
		return "piton " + a.what + " " + w.order().Isolate + w.order().Include
	case undoWish:
		return ""
	case tuneWish:
		targets = w.targets
	case stepWish:
		targets = w.targets
	}
	return strings.Join(action.Commands(targets, only(a.outcome.Changes, attr.Done)), "; ")
}

// tone is good if all is well.
func (a *applied) tone() tone {
	if a.outcome.Verdict() != change.AllDone {
		return bad
	}
	return good
}

// sentence says what a job did: "pin: affinity of nqueens (3641) 0-7 → 5: 1% busy…".
func (a *applied) sentence(arrow string) string {
	done := only(a.outcome.Changes, attr.Done)
	ordered, isOrdered := a.wish.(orderedWish)
	switch {
	case len(done) == 0 && len(a.outcome.Changes) > 0 && a.outcome.Changes[0].Why() != "": // it has ended
		return a.what + ": " + a.outcome.Changes[0].Why()
	case len(done) == 0:
		return a.what + ": already set"
	case isOrdered:
		return ordered.sentence(a.outcome)
	}
	c := done[0]
	text := fmt.Sprintf("%s %s %s (was %s)", dialog.Who(done), arrow, c.Attribute.Words(c.After), change.OrNone(c.Before))
	if slices.ContainsFunc(done, func(o change.Change) bool {
		return o.Attribute != c.Attribute || !o.Attribute.Alike(o.Before, c.Before) || !o.Attribute.Alike(o.After, c.After)
	}) {
		text = fmt.Sprintf("%s: %s set", dialog.Who(done), titles(done))
	}
	if _, isUndo := a.wish.(undoWish); isUndo {
		text = a.what + ": " + text
	}
	if a.outcome.Newborn > 0 {
		text += fmt.Sprintf(" (%d of them born meanwhile)", a.outcome.Newborn)
	}
	text += because(a.planned)
	if a.root {
		text += " (through sudo)"
	}
	for _, w := range a.news() {
		text += "; " + w
	}
	return text
}

// titles names the attributes of some changes, each once.
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
func (a *applied) news() []string {
	told := map[string]bool{}
	for _, n := range a.plan.Needs {
		told[n.Text] = true
	}
	for _, w := range a.plan.Warnings {
		told[w.Text] = a.yes
	}
	news := slices.DeleteFunc(change.Texts(a.outcome.Warnings), func(w string) bool { return told[w] })
	if a.outcome.Unrecorded != nil {
		news = append(news, "the journal does not know all of it: "+a.outcome.Unrecorded.Error())
	}
	return news
}

func count(changes []change.Change, s attr.Status) int { return len(only(changes, s)) }

func only(changes []change.Change, s attr.Status) []change.Change {
	var out []change.Change
	for _, c := range changes {
		if c.Status == s {
			out = append(out, c)
		}
	}
	return out
}

// messageStays is how long a message is shown when no key is pressed.
const messageStays = 8 * time.Second

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

// resume is a message that goes on in Update with what a command has found out.
type resume func(m *Model) tea.Cmd

// saying goes on with a message.
func saying(t tone, text string) resume { return func(m *Model) tea.Cmd { return m.say(t, text) } }

// say shows a message until a key or messageStays.
func (m *Model) say(t tone, text string) tea.Cmd {
	m.notice = notice{text: string(field.AppendClean(nil, text, m.th.ASCII)), tone: t, serial: m.notice.serial + 1}
	serial := m.notice.serial
	return tea.Tick(messageStays, func(time.Time) tea.Msg {
		return resume(func(m *Model) tea.Cmd {
			if serial == m.notice.serial {
				m.clearNotice()
			}
			return nil
		})
	})
}

// sayOwn shows a message about piton itself.
func (m *Model) sayOwn(text string, isError bool) tea.Cmd {
	if isError {
		return m.say(bad, text)
	}
	return m.say(good, text)
}

func (m *Model) clearNotice() { m.notice.text, m.notice.command = "", "" }

// noticeMost is the most lines that a message takes.
const noticeMost = 4

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
	command := m.command
	if study := m.bench.Command(); m.view == action.Bench && study != "" {
		command = study
	}
	if command == "" {
		return m.say(info, "there is no command to copy: make a change first")
	}
	return tea.Batch(tea.SetClipboard(command), m.say(info, "copied: "+command))
}
