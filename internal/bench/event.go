package bench

import "time"

// EventKind says what an Event tells.
type EventKind uint8

// The events of a study.
const (
	RunStarted EventKind = iota // Run has the placement, index and PID; the process is placed and about to start
	RunEnded                    // Run is complete
)

// Event is one step of a study.
type Event struct {
	Kind  EventKind
	Study string // Results.ID
	Run   RunResult
	Done  int // runs that have ended, warm-up included
	Total int
	// Left estimates the time until the study ends; valid when HaveLeft.
	Left     time.Duration
	HaveLeft bool
}
