package journalview

import (
	"context"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"piton/internal/change"
	"piton/internal/change/attr"
)

// kind is what has become of an entry or of a change.
type kind uint8

const (
	unknown kind = iota // not looked at yet
	inForce
	partly  // some of it is in force
	drifted // somebody has changed it since
	gone    // the tasks have ended
	undone
	pastBoot
	anUndo  // the entry is itself an undo
	failed  // nothing was changed
	foreign // made in another namespace
)

// words of the kinds, as the state column has them.
var words = [...]string{
	unknown: "", inForce: "in force", partly: "partly in force", drifted: "changed since", gone: "task has ended",
	undone: "undone", pastBoot: "before this boot", anUndo: "undo", failed: "nothing changed",
}

// state is what has become of an entry.
type state struct {
	kind    kind
	text    string
	changes map[attr.Key]changeState // of an entry that was looked at
}

type changeState struct {
	kind kind
	why  string
}

// plainState is what the entry itself tells; before is what was found out about
// it earlier, kept until it is looked at again.
func plainState(e change.Entry, before state) state {
	switch {
	case len(e.Undoes) > 0:
		return state{kind: anUndo, text: undoText(e.Undoes)}
	case e.Undone:
		return state{kind: undone, text: words[undone]}
	case e.PastBoot:
		return state{kind: pastBoot, text: words[pastBoot]}
	case e.Foreign != "":
		return state{kind: foreign, text: fmt.Sprintf("made in another %s namespace", e.Foreign)}
	case e.ChangedNothing():
		return state{kind: failed, text: words[failed]}
	}
	return before
}

func undoText(ids []uint64) string {
	if len(ids) == 1 {
		return fmt.Sprintf("undo of %d", ids[0])
	}
	return fmt.Sprintf("undo of %d entries", len(ids))
}

// maxChecked bounds how many entries are looked at, the newest first: each means
// reading the journal once more.
const maxChecked = 64

// statesMsg is what has become of the entries.
type statesMsg struct {
	serial int
	states map[uint64]state
}

// check is the command that looks at the entries that may still be in force.
func (v *View) check() tea.Cmd {
	var ids []uint64
	for _, e := range v.entries {
		if k := plainState(e.Entry, state{}).kind; k == unknown && len(ids) < maxChecked {
			ids = append(ids, e.ID)
		}
	}
	if len(ids) == 0 || v.o.Checker == nil {
		return nil
	}
	serial, checker := v.serial, v.o.Checker
	return func() tea.Msg {
		out := map[uint64]state{}
		for _, id := range ids {
			plan, err := checker.PlanUndo(context.Background(), change.UndoRequest{IDs: []uint64{id}})
			if err == nil {
				out[id] = judge(plan)
			}
		}
		return statesMsg{serial, out}
	}
}

// judge reads what would be undone as what is still in force.
func judge(plan change.Plan) state {
	s := state{changes: map[attr.Key]changeState{}}
	count := map[kind]int{}
	for _, c := range plan.Changes {
		st := judgeChange(c)
		s.changes[c.Key()] = st
		count[st.kind]++
	}
	n := len(plan.Changes)
	switch {
	case n == 0:
		s.kind = failed
	case count[inForce] == n:
		s.kind = inForce
	case count[inForce] > 0:
		s.kind = partly
	case count[drifted] > 0:
		s.kind = drifted
	case count[gone] > 0:
		s.kind = gone
	default:
		s.kind = undone
	}
	s.text = words[s.kind]
	if s.kind == partly {
		s.text = fmt.Sprintf("%d of %d in force", count[inForce], n)
	}
	return s
}

func judgeChange(c change.Change) changeState {
	switch {
	case c.Gone():
		return changeState{gone, ""}
	case c.Status == attr.Planned:
		return changeState{inForce, ""}
	case c.Status == attr.Unchanged:
		return changeState{undone, ""}
	}
	return changeState{drifted, c.Reason}
}

func (v *View) takeStates(msg statesMsg) {
	for i := range v.entries {
		if s, ok := msg.states[v.entries[i].ID]; ok {
			v.entries[i].state = s
		}
	}
}
