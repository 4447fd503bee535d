package ctxswitch

import (
	"runtime"
	"time"

	"piton/internal/child"
)

// takePart is the whole life of one process.
func takePart(process *child.Child) error {
	child.Room(1)
	runtime.LockOSThread() // for good
	var j job
	if err := process.Hear(&j); err != nil {
		return err
	}
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

// prepare gets all that the job needs.
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
