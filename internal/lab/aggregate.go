package lab

import (
	"errors"
	"fmt"
	"time"

	"piton/internal/action"
	"piton/internal/change/attr"
	"piton/internal/feature"
	"piton/internal/kernel"
	"piton/internal/lab/aggregate"
	"piton/workloads/chat"
)

// placeTogether puts a scheduler in force that runs the threads of one address space one
// after another, and asks for its policy; or for long slices where there can be no
// scheduler. What runs under it inherits either. release ends the scheduler; its error
// says that it had ended before.
func placeTogether(want *action.Tuning) (reason string, release func() error, err error) {
	scheduler, err := aggregate.Open(aggregate.DefaultBound)
	if errors.Is(err, feature.ErrNotSupported) {
		const slice = time.Duration(chat.LongSlice)
		want.Set = append(want.Set, attr.SetSlice(slice))
		return fmt.Sprintf("slices of %v: %v", slice, err), func() error { return nil }, nil
	}
	if err != nil {
		return "", nil, err
	}
	want.Set = append(want.Set, attr.SetPolicy(attr.PolicyValue{Policy: kernel.Ext}))
	reason = fmt.Sprintf("sched_ext: threads of one address space one after another, for %v at most", aggregate.DefaultBound/2)
	return reason, func() error { _, err := scheduler.End(); return err }, nil
}

// aggregated is what a scheduler counted while workload chat ran.
type aggregated struct {
	Turns       uint64  `json:"turns"`        // tasks that began to run
	Spaces      uint64  `json:"spaces"`       // of them, after one of another address space
	Late        uint64  `json:"late"`         // of them, because they had waited for half the bound
	LongestWait float64 `json:"longest_wait"` // seconds that a task waited for its turn
	Bound       float64 `json:"bound"`        // seconds that it was to wait at most
}

func openAggregator() (end func() (any, error), err error) {
	scheduler, err := aggregate.Open(aggregate.DefaultBound)
	if err != nil {
		return nil, err
	}
	return func() (any, error) {
		s, err := scheduler.End()
		return aggregated{s.Turns, s.Spaces, s.Late, s.Longest.Seconds(), time.Duration(aggregate.DefaultBound).Seconds()}, err
	}, nil
}
