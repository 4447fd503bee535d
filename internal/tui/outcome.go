package tui

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"piton/internal/tui/dialog"
	"piton/internal/tune"
)

// tuned takes the messages of changes on their way.
func (m *Model) tuned(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case planned:
		return m.takePlan(msg)
	case applied:
		return m.takeResult(msg)
	case undoable:
		m.undoable = msg.yes
	case affinityAsked:
		return m.openAffinity(msg)
	case ioPrioAsked:
		return m.openIOPrio(msg)
	case policyAsked:
		return m.openPolicy(msg)
	case placesAsked:
		return m.openPlaces(msg)
	case queueAsked:
		return m.openQueue(msg)
	case isolationChosen:
		return m.takeIsolationChosen(msg)
	case signalled:
		return m.takeSignalled(msg)
	case sudoDone:
		return m.takeSudo(msg)
	case decided:
		return m.takeDecided(msg)
	case lookAgain:
		return m.lookAtSelf()
	case delayed:
		return m.takeDelayed(msg)
	case hastened:
		return m.takeHastened(msg)
	}
	return nil
}

// takePlan carries a plan out, or asks first when it is wide, needs thought, or
// leaves something out.
func (m *Model) takePlan(p planned) tea.Cmd {
	if p.err != nil {
		return tea.Batch(m.over(p.job), m.say(bad, p.what+": "+p.err.Error()))
	}
	ready := count(p.plan.Changes, tune.Planned)
	if ready == 0 {
		if p.back != nil {
			return m.takenBack(p)
		}
		return tea.Batch(m.over(p.job), m.nothingToDo(p))
	}
	if p.back != nil { // whoever does not answer cannot be asked
		return m.carryOut(p)
	}
	for _, c := range p.choices {
		if c.Warning != "" {
			p.plan.Warnings = append(p.plan.Warnings, c.Warning)
		}
	}
	wide := p.ask || ready < len(p.plan.Changes) || p.plan.Processes()+p.plan.Files() > 1
	if !wide && p.plan.NeedsYes == "" && !m.mustAsk(p) {
		return m.carryOut(p)
	}
	d := dialog.NewConfirmPlan(p.plan).Add(p.more)
	if p.ask {
		d = d.Titled(strings.ToUpper(p.what[:1]) + p.what[1:] + " " + p.subject + "?")
	}
	return m.dialogs.PushUnasked(d, func(o dialog.Outcome) tea.Cmd {
		if o.Canceled {
			return tea.Batch(m.over(p.job), m.say(info, p.what+": nothing was changed"))
		}
		p.plan.Yes = true
		return m.carryOut(p)
	})
}

// mustAsk reports whether a plan warns of something that the user has to decide.
// A real-time trial is asked about afterwards, and what a step of nice warns of is
// said with its outcome, unless there is no way back.
func (m *Model) mustAsk(p planned) bool {
	for _, w := range p.plan.Warnings {
		if w != p.plan.Trial && (!p.nice || strings.Contains(w, "one-way")) {
			return true
		}
	}
	return false
}

// nothingToDo says why a plan changes nothing.
func (m *Model) nothingToDo(p planned) tea.Cmd {
	for _, c := range p.plan.Changes {
		if c.Status == tune.Refused {
			return m.refused(p, c)
		}
	}
	if len(p.plan.Changes) > 0 {
		c := p.plan.Changes[0]
		return m.say(info, fmt.Sprintf("%s: %s of %s is %s already%s", p.what, attributeName(c.Attribute), dialog.Who(p.plan.Changes), c.After, because(p)))
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

// refused says why nothing was tried, or offers more rights where they are what
// is missing.
func (m *Model) refused(p planned, c tune.Change) tea.Cmd {
	if errors.Is(c.Err, tune.ErrNotPermitted) {
		return m.offerSudo(p, reasonOf(c))
	}
	return m.say(bad, fmt.Sprintf("%s %s: %s", p.what, dialog.Who([]tune.Change{c}), reasonOf(c)))
}

func reasonOf(c tune.Change) string {
	if c.Reason == "" && c.Err != nil {
		return c.Err.Error()
	}
	return c.Reason
}

// takeResult says what was done. A real-time policy on a busy task is kept only
// if the user says so in time.
func (m *Model) takeResult(a applied) tea.Cmd {
	if a.err != nil {
		return tea.Batch(m.over(a.job), m.say(bad, a.what+": "+a.err.Error()+a.left()))
	}
	m.nice.done = m.nice.done || a.nice
	if a.result.Entry != 0 {
		m.undoable = true
	}
	m.deps.Sampler.Refresh()
	done, failed := count(a.result.Changes, tune.Done), count(a.result.Changes, tune.Failed)+count(a.result.Changes, tune.Refused)
	cmds := []tea.Cmd{m.journalChanged(), m.checkUndo()}
	if a.then != nil && done > 0 && !dangerous(a.plan) {
		cmds = append(cmds, a.then())
	}
	switch {
	case failed > 0 && a.guard != nil:
		cmds = append(cmds, m.sayFailed(a, done), m.askKeep(a))
	case failed > 0:
		cmds = append(cmds, m.sayFailed(a, done))
	case dangerous(a.plan) && done > 0:
		cmds = append(cmds, m.askKeep(a))
	default:
		cmds = append(cmds, m.say(good, a.sentence(m.th.Arrow)))
	}
	return tea.Batch(cmds...)
}

// attributeNames are the attributes as messages write them.
var attributeNames = map[tune.Attribute]string{
	tune.Affinity: "affinity", tune.Nice: "nice", tune.Policy: "policy", tune.IOPrio: "I/O priority",
}

func attributeName(a tune.Attribute) string {
	if name, ok := attributeNames[a]; ok {
		return name
	}
	return a.Title()
}

// attributesOf names the attributes of some changes, each once.
func attributesOf(changes []tune.Change) string {
	var names []string
	for _, c := range changes {
		if name := attributeName(c.Attribute); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// sentence says what a job did: "pin: nqueens (3641) affinity 0-7 → 5: 1% busy…".
func (a *applied) sentence(arrow string) string {
	done := only(a.result.Changes, tune.Done)
	switch {
	case len(done) == 0:
		return a.what + ": it was so already"
	case a.words != nil:
		return a.words(a.result)
	}
	c := done[0]
	text := fmt.Sprintf("%s of %s %s %s %s", attributeName(c.Attribute), dialog.Who(done), c.Before, arrow, c.After)
	if before, after := uniform(done); !before || !after {
		text = fmt.Sprintf("%s of %s set", attributesOf(done), dialog.Who(done))
	}
	if a.what != attributeName(c.Attribute) {
		text = a.what + ": " + text
	}
	if a.result.Newborn > 0 {
		text += fmt.Sprintf(" (%d of them born meanwhile)", a.result.Newborn)
	}
	text += because(a.planned)
	if warnings := a.warnings(); len(warnings) > 0 {
		text += "; " + strings.Join(warnings, "; ")
	}
	return text
}

// warnings are those of the outcome, and those of the plan that nobody was
// asked about.
func (a *applied) warnings() []string {
	warnings := slices.Clone(a.result.Warnings)
	if a.nice {
		warnings = append(warnings, a.plan.Warnings...)
	}
	return warnings
}

// uniform reports whether all changes have the same value before, and after.
func uniform(changes []tune.Change) (before, after bool) {
	before, after = true, true
	for _, c := range changes {
		before = before && c.Before == changes[0].Before
		after = after && c.After == changes[0].After
	}
	return before, after
}

// sayFailed names the first failure and how many targets did work.
func (m *Model) sayFailed(a applied, done int) tea.Cmd {
	for _, c := range a.result.Changes {
		if c.Status != tune.Failed && c.Status != tune.Refused {
			continue
		}
		if errors.Is(c.Err, tune.ErrNotPermitted) && done == 0 {
			return m.offerSudo(a.planned, reasonOf(c))
		}
		text := fmt.Sprintf("%s %s: %s", a.what, dialog.Who([]tune.Change{c}), reasonOf(c))
		if done > 0 {
			text += fmt.Sprintf(" (%d of %d were done)", done, len(a.result.Changes))
		}
		return m.say(bad, text)
	}
	return nil
}

func count(changes []tune.Change, s tune.Status) int { return len(only(changes, s)) }

func only(changes []tune.Change, s tune.Status) []tune.Change {
	var out []tune.Change
	for _, c := range changes {
		if c.Status == s {
			out = append(out, c)
		}
	}
	return out
}
