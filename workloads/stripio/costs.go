package stripio

import (
	"runtime"
	"runtime/debug"
	"slices"
	"time"
	"unsafe"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// rounds is how many strips the costs are the median of: 20 ms of work.
const rounds = 200

// predict measures the costs and asks the model.
func (r *Result) predict(sched kernel.Scheduler, cpus []cpuset.CPU) {
	costs, err := measureCosts(sched, cpus)
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

// measureCosts has one CPU fill strips, and another merge each of them twice:
// the first time it comes from the other's cache, the second time from its own.
func measureCosts(sched kernel.Scheduler, cpus []cpuset.CPU) (Costs, error) {
	if len(cpus) < 2 {
		return Costs{}, errOneCPU
	}
	// Both threads wait in the kernel.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 2))
	memory := make([]uint64, ringBytes/8)
	ring := newRing(unsafe.Slice((*byte)(unsafe.Pointer(&memory[0])), ringBytes))
	filled := make(chan error, 1)
	go func() {
		filled <- kernel.OnThread(func() error {
			err := sched.SetAffinity(calling, cpuset.Of(cpus[len(cpus)-1]))
			for k := range uint32(rounds) {
				fill(ring.slot[0], uint64(k)) // always the same strip: it is in this CPU's cache, changed
				ring.full(k)
				await(&ring.head.taken, &ring.head.readerSleeps, func(taken uint32) bool { return taken == k+1 })
			}
			return err
		})
	}()
	var cold, warm []float64
	err := kernel.OnThread(func() error {
		err := sched.SetAffinity(calling, cpuset.Of(cpus[0]))
		transfer := make([]uint64, words)
		for k := range uint32(rounds) {
			ring.next(k)
			begin := time.Now()
			merge(transfer, ring.slot[0])
			between := time.Now()
			merge(transfer, ring.slot[0])
			warm = append(warm, time.Since(between).Seconds())
			cold = append(cold, between.Sub(begin).Seconds())
			ring.done(k)
		}
		return err
	})
	if fillErr := <-filled; err == nil {
		err = fillErr
	}
	p := median(warm)
	return Costs{Strip: p, Move: max(median(cold)-p, 0)}, err
}

func median(xs []float64) float64 {
	slices.Sort(xs)
	return (xs[(len(xs)-1)/2] + xs[len(xs)/2]) / 2
}
