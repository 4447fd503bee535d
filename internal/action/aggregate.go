package action

import (
	"errors"
	"fmt"
	"time"

	"piton/internal/bench"
	"piton/internal/bpf"
	"piton/internal/change/attr"
	"piton/internal/feature"
	"piton/internal/kernel"
)

// longSlice is the slice of threads that are aggregated without sched_ext: the
// most that Linux takes (EEVDF, since 6.12).
const longSlice = 100 * time.Millisecond

// aggregation is how the threads of a benchmark's process are aggregated in
// time. The zero value is not at all.
type aggregation struct {
	scheduler *bpf.Aggregate // nil without sched_ext
	reason    string
}

// aggregate puts a scheduler in force and asks for its policy, or for long slices
// where there can be no scheduler. What runs under it inherits either.
func aggregate(want *Tuning) (aggregation, error) {
	scheduler, err := bpf.OpenAggregate(bpf.DefaultAggregateBound)
	if errors.Is(err, feature.ErrNotSupported) {
		want.Set = append(want.Set, attr.SetSlice(longSlice))
		return aggregation{reason: fmt.Sprintf("slices of %v: %v", longSlice, err)}, nil
	}
	if err != nil {
		return aggregation{}, err
	}
	want.Set = append(want.Set, attr.SetPolicy(attr.PolicyValue{Policy: kernel.Ext}))
	reason := fmt.Sprintf("sched_ext: threads of one address space one after another, for %v at most", bpf.DefaultAggregateBound/2)
	return aggregation{scheduler, reason}, nil
}

// release ends the scheduler; the error says that it had ended before.
func (a aggregation) release() error {
	if a.scheduler == nil {
		return nil
	}
	s, err := a.scheduler.Read()
	if err == nil && s.Ended != "" {
		err = errors.New(s.Ended)
	}
	return errors.Join(err, a.scheduler.Close())
}

// with adds the aggregation to what a placement did.
func (a aggregation) with(p bench.Placed) bench.Placed {
	if a.reason == "" {
		return p
	}
	if p.Reason != "" {
		p.Reason += "; "
	}
	p.Reason += a.reason
	if before := p.Release; before != nil {
		p.Release = func() error { return errors.Join(before(), a.release()) }
	} else {
		p.Release = a.release
	}
	return p
}
