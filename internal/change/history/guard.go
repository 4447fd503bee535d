package history

import (
	"fmt"
	"time"
)

// GuardState is a guard that has not decided yet, as anybody can see it.
type GuardState struct {
	Entry uint64
	Left  time.Duration // until the change is reverted, or LeftUnknown
	// Lost: its process has ended, and the change will not be reverted. Stopped: it does
	// not run, and will not revert before it does.
	Lost, Stopped bool
	Making        bool // what it is to revert is being made, or tried, at the moment
	Waiting       bool // for a confirmation
	PID           int
	State         string // "being made", "waiting", "being reverted", "lost", "stopped"
	Command       string // that made the change
	Caveats       []string
}

// LeftUnknown is the time that is left by the clock of another time namespace.
const LeftUnknown = time.Duration(-1)

// Words say what is wrong with the guard and what helps, "" if nothing is.
func (g GuardState) Words() string {
	remedy := fmt.Sprintf("piton undo %d reverts it now, piton keep %d keeps it", g.Entry, g.Entry)
	switch {
	case g.Lost:
		return fmt.Sprintf("guard lost: entry %d will not be reverted; %s", g.Entry, remedy)
	case g.Stopped:
		return fmt.Sprintf("guard stopped: entry %d is not reverted while process %d is; %s", g.Entry, g.PID, remedy)
	}
	return ""
}

// short says how the entry stands that the guard is to revert.
func (g *GuardState) short() string {
	switch {
	case g.Lost:
		return "guard lost"
	case g.Stopped:
		return "guard stopped"
	case g.Left == LeftUnknown:
		return "reverted unless kept"
	}
	return fmt.Sprintf("reverted in %d s unless kept", int(g.Left.Seconds()))
}
