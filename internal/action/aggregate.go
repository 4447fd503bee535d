package action

import (
	"errors"
	"fmt"
	"time"

	"piton/internal/bpf"
	"piton/internal/change/attr"
	"piton/internal/feature"
	"piton/internal/kernel"
)

// longSlice is the slice of threads that are aggregated without sched_ext: the
// most that Linux takes (EEVDF, since 6.12).
const longSlice = 100 * time.Millisecond

// aggregate puts a scheduler in force that runs the threads of one address space one
// after another, and asks for its policy; or for long slices where there can be no
// scheduler. What runs under it inherits either. release ends the scheduler; its error
// says that it had ended before.
func aggregate(want *Tuning) (reason string, release func() error, err error) {
	scheduler, err := bpf.OpenAggregate(bpf.DefaultAggregateBound)
	if errors.Is(err, feature.ErrNotSupported) {
		want.Set = append(want.Set, attr.SetSlice(longSlice))
		return fmt.Sprintf("slices of %v: %v", longSlice, err), func() error { return nil }, nil
	}
	if err != nil {
		return "", nil, err
	}
	want.Set = append(want.Set, attr.SetPolicy(attr.PolicyValue{Policy: kernel.Ext}))
	reason = fmt.Sprintf("sched_ext: threads of one address space one after another, for %v at most", bpf.DefaultAggregateBound/2)
	return reason, func() error {
		s, err := scheduler.Read()
		if err == nil && s.Ended != "" {
			err = errors.New(s.Ended)
		}
		return errors.Join(err, scheduler.Close())
	}, nil
}
