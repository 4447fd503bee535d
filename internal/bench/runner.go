package bench

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"
	"time"

	"piton/internal/kernel"
	"piton/internal/procfs"
)

// Placed is what a PlaceFunc did.
type Placed struct {
	CPUs   string // cpulist that the process is restricted to now, "" if it is not
	Reason string // why these, in words
	// Release, if not nil, is called once the process has ended; its error says
	// that the placement did not hold until then.
	Release func() error
}

// PlaceFunc places a process, all of its threads, as Spec asks. It is called
// for "normal" too, with the zero Spec, and must then change nothing.
type PlaceFunc func(ctx context.Context, pid kernel.TID, spec Spec) (Placed, error)

// Runner runs studies. Place, Scheduler and Proc must be set.
type Runner struct {
	// Command starts a workload's process; the workload's name and flags are
	// appended to it.
	Command   []string
	Env       []string // environment of the processes; nil = this one's
	Place     PlaceFunc
	Scheduler kernel.Scheduler
	Proc      procfs.FS
	Store     *Store // where results are kept; nil = nowhere
	// Conditions are read at the start of a study; nil = not read.
	Conditions func() Conditions
	// WallClock tells the time of day, nil = time.Now. No length of time is taken
	// from it.
	WallClock func() time.Time
}

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

// Run runs the study in its Canonical form, and calls on, if not nil, for each event from the calling
// goroutine. A failed run does not end it. When ctx ends, the process that runs
// is killed and waited for, and the Results so far are returned with ctx's error.
func (r *Runner) Run(ctx context.Context, study Study, on func(Event)) (Results, error) {
	if err := study.validateCounts(); err != nil {
		return Results{}, err
	}
	study = study.Canonical()
	results := Results{ID: newID(time.Now()), Started: time.Now(), Study: study}
	if r.Conditions != nil {
		results.Conditions = r.Conditions()
	}
	if on == nil {
		on = func(Event) {}
	}
	runtime.LockOSThread() // see startNoise
	defer runtime.UnlockOSThread()
	load, err := r.startNoise(study.Noise)
	if err != nil {
		return results, err
	}
	defer load.stop()
	results.StoreErr = r.Store.begin(results)
	left := estimate{study: study}
	for round := range study.rounds() {
		left.spent = time.Since(results.Started) // what is between the runs counts too
		if study.over(round, left.spent, results) {
			break
		}
		for _, slot := range study.round(round) {
			if err := r.next(ctx, &results, slot, &left, on); err != nil {
				return results, err
			}
		}
	}
	return results, nil
}

// next makes one run.
func (r *Runner) next(ctx context.Context, results *Results, s slot, left *estimate, on func(Event)) error {
	emit := func(kind EventKind, run RunResult) {
		e := Event{Kind: kind, Study: results.ID, Run: run, Done: left.done, Total: left.total()}
		e.Left, e.HaveLeft = left.remaining()
		on(e)
	}
	start, clock := time.Now(), r.readClock()
	one := r.runOne
	if results.Study.Workload == AttachWorkload {
		one = r.attach
	}
	run := one(ctx, results.Study, s, func(run RunResult) { emit(RunStarted, run) })
	if ctx.Err() != nil {
		return fmt.Errorf("run the study: %w", context.Cause(ctx))
	}
	left.add(time.Since(start))
	run.ClockStep = r.readClock().step(clock)
	results.Runs = append(results.Runs, run)
	if results.StoreErr == nil || errors.Is(results.StoreErr, errUnwritable) {
		results.StoreErr = cmp.Or(r.Store.add(results.ID, run), results.StoreErr)
	}
	emit(RunEnded, run)
	return nil
}

// newID names one run of a study: the time, so that names sort, and four random
// bytes against two studies in the same second.
func newID(now time.Time) string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return now.UTC().Format("20060102T150405Z") + "-" + hex.EncodeToString(b[:])
}
