package watch

import (
	"context"
	"errors"
	"slices"
	"time"

	"piton/internal/bpf"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/procfs"
	"piton/internal/sample"
)

// Wakeups are the wakeups by and of the targets since those before.
type Wakeups struct {
	List []sample.Wake // in no order
	Over time.Duration // in which they were counted
	Lost uint64        // that were not counted: there were too many pairs
}

// Wakes counts which thread wakes which, of targets or of all tasks. It needs eBPF:
// nothing else tells. Children that a target of scope Tree has meanwhile are
// targets from the next Read on.
type Wakes struct {
	kernel  *bpf.Wakes
	fs      procfs.FS
	targets Targets // without IDs: all tasks
}

// OpenWakes begins to count. An error that Is feature.ErrNotSupported says what is
// missing.
func OpenWakes(fs procfs.FS, t Targets) (*Wakes, error) {
	k, err := bpf.OpenWakes(bpf.WakesPairs, t.IDs...)
	if err != nil {
		return nil, err
	}
	return &Wakes{kernel: k, fs: fs, targets: t}, nil
}

// Close ends counting and detaches.
func (w *Wakes) Close() { w.kernel.Close() }

// Read returns what was counted since the last call, or since the opening. It
// sleeps for some milliseconds.
func (w *Wakes) Read() (Wakeups, error) {
	list, stats, err := w.kernel.Drain(nil)
	if err != nil {
		return Wakeups{}, err
	}
	if w.targets.Scope == Thread && len(w.targets.IDs) > 0 { // the program takes a leader's number for its process
		list = slices.DeleteFunc(list, func(one sample.Wake) bool {
			return !slices.Contains(w.targets.IDs, one.Waker.TID) && !slices.Contains(w.targets.IDs, one.Wakee.TID)
		})
	}
	if w.targets.Scope == Tree && len(w.targets.IDs) > 0 {
		err = w.follow()
	}
	return Wakeups{list, stats.Window, stats.Lost}, err
}

// follow makes descendants targets. One that loses its parent stays one.
func (w *Wakes) follow() error {
	ids, err := Descendants(w.fs, w.targets.IDs)
	if err != nil || len(ids) == 0 { // without ids the program would count all tasks
		return err
	}
	w.targets.IDs = ids
	return w.kernel.SetTargets(ids...)
}

// left reports whether there still is a target.
func (w *Wakes) left() bool {
	return len(w.targets.IDs) == 0 || slices.ContainsFunc(w.targets.IDs, exists(w.fs))
}

// Run calls on with what was counted in each interval, until the duration is over
// (0 = for ever), ctx ends, no target is left, or on fails. The last interval may
// be a shorter one.
func (w *Wakes) Run(ctx context.Context, every, d time.Duration, on func(Wakeups) error) error {
	return runEvery(ctx, every, d, w.left, w.Read, on)
}

// runEvery calls on with what read returns in each interval, until the duration is over (0 =
// for ever), ctx ends, left says no, or on fails. The last interval may be a shorter one.
func runEvery[T any](ctx context.Context, every, d time.Duration, left func() bool, read func() (T, error), on func(T) error) error {
	if d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	tick, look := time.NewTicker(every), time.NewTicker(leftEvery)
	defer tick.Stop()
	defer look.Stop()
	for more := true; more; {
		select {
		case <-ctx.Done():
			more = false
		case <-look.C:
			if more = left(); more {
				continue
			}
		case <-tick.C:
			if until, ok := ctx.Deadline(); ok && time.Until(until) < every/10 {
				continue // the last interval takes in what is left of it
			}
		}
		now, err := read()
		if err == nil {
			err = on(now)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Partners counts for so long and returns the threads that wake threads of
// processes or are woken by them, the one with most wakeups a second first,
// interrupts left out, and what is beyond bpf.WakesPairs pairs. When ctx ends
// before, it returns those so far and the error of ctx.
func Partners(ctx context.Context, pids []kernel.TID, d time.Duration) ([]model.Partner, error) {
	k, err := bpf.OpenWakes(bpf.WakesPairs, pids...)
	if err != nil {
		return nil, err
	}
	defer k.Close()
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
	list, stats, err := k.Drain(nil)
	partners := slices.DeleteFunc(model.Partners(pids, list, stats.Window), func(p model.Partner) bool { return p.TID == 0 })
	return partners, errors.Join(err, ctx.Err())
}
