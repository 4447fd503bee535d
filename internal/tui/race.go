package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/auto"
	"piton/internal/change"
	"piton/internal/tui/screen"
)

// startRace has placements tried of the tagged processes, or the selected one, and shows that.
// On that view samples are taken of what the header and the panel show only: the search
// and the screen are to cost less than 1 % of a CPU together.
func (m *Model) startRace() tea.Cmd {
	switch {
	case m.race.Running():
		return m.show(action.Race)
	case m.bench.Running():
		return m.say(bad, "a benchmark is running; a search would disturb it")
	}
	targets, subject := m.procs.processes()
	tuning, now := m.deps.Tuning, m.newest
	m.changes.busy++
	return tea.Batch(m.show(action.Race), m.race.Begin(subject, func(ctx context.Context, tell func(auto.State)) (auto.State, error) {
		return tuning.Search(ctx, now, targets, tell)
	}, func(s auto.State, err error) tea.Msg {
		return m.changes.finished(func() tea.Cmd { return m.searched(targets, subject, s, err) })
	}))
}

// searched shows how a search has ended, on other views in a line. What it keeps is a
// change like others. None is made through sudo: its steps and its guard are this process's.
func (m *Model) searched(targets []change.Target, subject string, s auto.State, err error) tea.Cmd {
	m.race.Take(s, err)
	changed := s.Found != nil && s.Found.Outcome != nil // in part, with an error
	switch {
	case !changed && m.view == action.Race:
		m.clearNotice()
		return nil
	case !changed && err != nil:
		return m.say(bad, "race: "+subject+": "+err.Error())
	case !changed:
		return m.say(info, "race: "+s.Found.Sentence(s.Candidates, s.Metric))
	}
	cmd := m.changes.takeOutcome(result{request: tune("auto", subject, targets, action.Tuning{}), outcome: *s.Found.Outcome, err: err})
	if err == nil && !s.Found.ByHand {
		m.changes.command = action.SearchCommand(targets)
		m.notice.command = m.changes.command
	}
	return cmd
}

func (m *Model) keepNow() tea.Cmd {
	if why := m.race.Keep(); why != "" {
		return m.say(info, why)
	}
	return nil
}

// endSearch ends the search that is under way, or leaves its view.
func (m *Model) endSearch() tea.Cmd {
	if !m.race.Running() {
		return m.show(action.Processes)
	}
	m.race.Restore()
	return m.say(info, "restoring"+m.th.Ellipsis)
}

// searching is why what would disturb a search is not done.
const searching = "a search is under way: R shows it, Esc there ends it and restores"

// suspend stops piton, unless what a search tries would stay in force meanwhile. Nothing observes
// waits then.
func (m *Model) suspend() tea.Cmd {
	switch {
	case m.race.Running():
		return m.say(info, searching)
	case m.view == action.Why:
		m.why.Stop()
		return tea.Sequence(m.show(action.Processes), screen.Suspend)
	}
	return screen.Suspend
}
