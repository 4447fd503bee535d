package chat

import (
	"fmt"

	"piton/internal/cpuset"
)

// plan is the processes to start, server and client of each pair in turn, with
// where their threads go.
func (c *coordinator) plan() ([]config, error) {
	r := &c.result
	var cpus []cpuset.CPU
	if r.Mapping == Pack || r.Mapping == Pair || r.Mapping == Spread {
		var err error
		if cpus, err = c.allowed(); err != nil {
			return nil, err
		}
		if len(cpus) == 1 {
			r.Why = fmt.Sprintf("there is one CPU to use, so %s changes nothing", r.Mapping)
		}
	}
	var all []config
	threads := 0
	for pair := range r.Pairs {
		first, end := r.Rooms*pair/r.Pairs, r.Rooms*(pair+1)/r.Pairs
		for i, role := range []role{server, client} {
			one := config{Role: role, Messages: r.Messages}
			for room := first; room < end; room++ {
				one.Rooms = append(one.Rooms, room)
			}
			one.CPUs, one.From = deal(r.Mapping, cpus, pair, 2*pair+i, threads)
			threads += threadsEach * Members * len(one.Rooms)
			all = append(all, one)
			r.Processes = append(r.Processes, Usage{Role: string(role), CPUs: cpuset.Of(one.CPUs...).String()})
		}
	}
	return all, nil
}

// deal returns the CPUs of a process whose first thread has so many before it.
func deal(m Mapping, cpus []cpuset.CPU, pair, process, before int) ([]cpuset.CPU, int) {
	one := func(i int) []cpuset.CPU { return cpus[i%len(cpus):][:1] }
	switch m {
	case Pack:
		return one(process), 0
	case Pair:
		return one(pair), 0
	case Spread:
		return cpus, before
	}
	return nil, 0
}

// The ways to aggregate in time, for Result.Aggregation.
const (
	bySchedExt = "sched_ext"
	bySlices   = "slices"
)

// aggregate sets how threads are aggregated in time; finish ends what it began.
func (c *coordinator) aggregate(configs []config) (finish func() error) {
	r := &c.result
	finish = func() error { return nil }
	if r.Mapping != Slices && r.Mapping != Aggregate {
		return finish
	}
	r.Aggregation = bySlices
	if r.Mapping == Aggregate {
		if end, err := r.Aggregator(); err != nil {
			r.Why = err.Error()
		} else {
			r.Aggregation = bySchedExt
			finish = func() (err error) { r.Aggregated, err = end(); return err }
		}
	}
	for i := range configs {
		if configs[i].Ext = r.Aggregation == bySchedExt; !configs[i].Ext {
			configs[i].SliceNs = LongSlice
		}
	}
	return finish
}
