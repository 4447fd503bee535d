package ctxswitch

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"piton/internal/child"
)

func runProcess(process *child.Child) error {
	var j job
	if err := process.Hear(&j); err != nil {
		return err
	}
	if err := j.check(); err != nil {
		return err
	}
	child.ThreadRoom(1)
	runtime.LockOSThread() // for good
	run, err := j.prepare()
	if err != nil {
		return err
	}
	if err := process.Ready(); err != nil {
		return err
	}
	r := report{Index: j.Index}
	begin := time.Now()
	if err := run(&r); err != nil {
		return err
	}
	r.Seconds = time.Since(begin).Seconds()
	return process.Tell(r) // and stay: the others may still need this end of the pipes
}

// check says in one sentence what is wrong with a job, which comes from standard input:
// its numbers are sizes of memory and places in it.
func (j job) check() error {
	ring := j.Mode != Turns
	switch {
	case !slices.Contains(Modes, j.Mode):
		return fmt.Errorf("the mode must be one of %v, not %q", Modes, j.Mode)
	case j.Procs < MinProcs || j.Procs > MaxProcs:
		return fmt.Errorf("the number of processes must be %d to %d, not %d", MinProcs, MaxProcs, j.Procs)
	case j.Index < 0 || j.Index >= j.Procs:
		return fmt.Errorf("the process must be one of 0 to %d, not %d", j.Procs-1, j.Index)
	case ring && (j.KiB < 0 || j.KiB > MaxKiB):
		return fmt.Errorf("the memory of a process must be 0 to %d KiB, not %d", MaxKiB, j.KiB)
	case ring && (j.Rounds < MinRounds || j.Rounds > MaxRounds):
		return fmt.Errorf("the number of rounds must be %d to %d, not %d", MinRounds, MaxRounds, j.Rounds)
	case !ring && (j.Ms < MinMs || j.Ms > MaxMs):
		return fmt.Errorf("the time must be %d to %d ms, not %d", MinMs, MaxMs, j.Ms)
	}
	return nil
}

func (j job) prepare() (run func(*report) error, err error) {
	if j.Mode == Turns {
		return j.turns()
	}
	link, err := newLink(j)
	if err != nil {
		return nil, err
	}
	memory := newFootprint(j.KiB)
	return func(r *report) error { return pass(j, link, memory, r) }, nil
}
