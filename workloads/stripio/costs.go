package stripio

import (
	"cmp"
	"errors"
	"sync/atomic"
	"time"

	"piton/internal/chart"
	"piton/internal/child"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// The costs are medians of so many strips, some ms of work, which may take longer
// where others want the CPUs too.
const (
	rounds   = 200
	fewest   = 10
	atOnce   = 200 * time.Microsecond // a strip is filled in about 20
	patience = 150 * time.Millisecond
)

var (
	errOneCPU = errors.New("there is one CPU to use, so no strip can be in another's cache")
	errBusy   = errors.New("the CPUs were too busy with others to measure what it costs to move a strip")
)

func (r *Result) predict(sched kernel.Own, cpus []cpuset.CPU) {
	costs, err := MeasureCosts(sched, cpus)
	if err != nil {
		r.ModelWhy = err.Error()
		return
	}
	s := Shape{
		Servers: perTransfer, Cores: len(cpus), Programs: r.Apps,
		Requests: r.MiB * r.Apps, // a transfer asks for its strips
	}
	r.Model = &Model{Costs: costs, Shape: s, Prediction: Predict(costs, s)}
}

// MeasureCosts has one CPU fill strips, and another merge each of them twice:
// the first time it comes from the other's cache, the second time from its own.
// Both spin while it is the other's turn: a CPU that sleeps may lose its caches.
func MeasureCosts(sched kernel.Own, cpus []cpuset.CPU) (Costs, error) {
	if len(cpus) < 2 {
		return Costs{}, errOneCPU
	}
	// Nothing may stop one thread while the other waits for it.
	defer child.ThreadRoom(2)()
	var turn atomic.Uint32 // odd: the strip is filled; even: it is merged
	var stop atomic.Bool
	strip := make([]uint64, words)
	filled := make(chan error, 1)
	go func() {
		filled <- on(sched, cpus, len(cpus)-1, func() error {
			for k := uint32(0); !stop.Load(); k += 2 {
				fill(strip, uint64(k))
				turn.Store(k + 1)
				for turn.Load() != k+2 && !stop.Load() {
				}
			}
			return nil
		})
	}()
	var c Costs
	err := on(sched, cpus, 0, func() (err error) {
		c, err = mergeTwice(strip, &turn)
		return err
	})
	stop.Store(true)
	return c, cmp.Or(err, <-filled)
}

// on works on one of the CPUs, and gives the thread all of them back: it may be
// the process's first, which Go does not end.
func on(sched kernel.Own, cpus []cpuset.CPU, cpu int, work func() error) error {
	return kernel.OnThread(func() error {
		if err := sched.SetAffinity(kernel.Calling, cpuset.Of(cpus[cpu])); err != nil {
			return err
		}
		err := work()
		return cmp.Or(err, sched.SetAffinity(kernel.Calling, cpuset.Of(cpus...)))
	})
}

// mergeTwice merges strips when it is its turn, and compares the two times. It
// leaves out strips that waited, while one of the two was put aside for others:
// they have left the cache that they were filled in.
func mergeTwice(strip []uint64, turn *atomic.Uint32) (Costs, error) {
	transfer := make([]uint64, words)
	var cold, warm []float64
	asked := time.Now()
	end := asked.Add(patience)
	for k := uint32(0); len(cold) < rounds && asked.Before(end); k += 2 {
		for turn.Load() != k+1 {
			if time.Now().After(end) {
				return Costs{}, errBusy
			}
		}
		begin := time.Now()
		merge(transfer, strip)
		between := time.Now()
		merge(transfer, strip)
		if begin.Sub(asked) < atOnce {
			warm = append(warm, time.Since(between).Seconds())
			cold = append(cold, between.Sub(begin).Seconds())
		}
		asked = time.Now()
		turn.Store(k + 2)
	}
	if len(cold) < fewest {
		return Costs{}, errBusy
	}
	warmed, moved := chart.Middle(warm), chart.Middle(cold)
	return Costs{Strip: warmed, Move: max(moved-warmed, 0)}, nil
}
