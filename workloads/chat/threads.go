package chat

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

// startThreads gives each worker an OS thread, mapped, that waits at the gate.
func (p *process) startThreads() error {
	type started struct {
		tid kernel.TID
		err error
	}
	ready := make(chan started)
	p.ended = make(chan error, len(p.workers))
	for t, w := range p.workers {
		go func() {
			// The thread outlives its work, so that its counters can be read.
			runtime.LockOSThread()
			tid, err := p.mapThread(t)
			ready <- started{tid, err}
			if err != nil {
				return
			}
			for atomic.LoadUint32(&p.gate) == 0 {
				kernel.BlockingWait(&p.gate, 0)
			}
			p.ended <- w.run().err()
			<-p.child.Closed()
		}()
	}
	var failure error
	for range p.workers {
		s := <-ready
		p.tids = append(p.tids, s.tid)
		if s.err != nil {
			failure = s.err
		}
	}
	return failure
}

// mapThread sets how the calling thread is run.
func (p *process) mapThread(t int) (kernel.TID, error) {
	tid, sched := kernel.CallingThread(), kernel.System()
	if len(p.CPUs) > 0 {
		cpu := p.CPUs[(p.From+t)%len(p.CPUs)]
		if err := sched.SetAffinity(kernel.Calling, cpuset.Of(cpu)); err != nil {
			return tid, fmt.Errorf("map thread %d to CPU %d: %w", t, cpu, err)
		}
	}
	if p.Ext {
		if err := sched.SetPolicy(kernel.Calling, kernel.Ext, 0, false); err != nil {
			return tid, fmt.Errorf("put thread %d under sched_ext: %w", t, err)
		}
	}
	if p.SliceNs > 0 {
		return tid, setSlice(sched, p.SliceNs)
	}
	return tid, nil
}

// setSlice gives the calling thread a slice. A kernel before 6.12 takes the call
// and has no slices.
func setSlice(sched kernel.Own, ns uint64) error {
	if err := sched.SetSlice(kernel.Calling, ns); err != nil {
		return err
	}
	now, err := sched.Attr(kernel.Calling)
	if err == nil && now.RuntimeNs != ns {
		err = errors.New("this kernel has no slices of single threads, which came with Linux 6.12")
	}
	return err
}

// migrations is how often the threads were moved in their lives, as far as the
// kernel tells (/proc/PID/task/TID/sched, CONFIG_SCHED_DEBUG before Linux 6.15).
func (p *process) migrations() (total uint64) {
	for _, tid := range p.tids {
		st, err := procfs.New("/").Sched(kernel.TID(os.Getpid()), tid)
		if err != nil {
			return 0
		}
		total += st.Migrations
	}
	return total
}
