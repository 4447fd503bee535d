package guard

import (
	"errors"
	"os"
	"time"

	"piton/internal/kernel"
	"piton/internal/procfs"
)

// Self is the running process as one that may be starved by others.
type Self struct{}

// SelfPriority is what a starved screen asks for: below the guards of whatever is
// at the top.
const SelfPriority = highestPriority - 1

// Delay returns how long the threads that the process has now have run so far, and
// waited for a CPU meanwhile (schedstat).
func (Self) Delay() (ran, waited time.Duration, err error) {
	fs, self := procfs.New("/"), kernel.TID(os.Getpid())
	tids, err := fs.Threads(self)
	if err != nil {
		return 0, 0, err
	}
	for _, tid := range tids {
		st, err := fs.Schedstat(self, tid)
		if errors.Is(err, procfs.ErrGone) {
			continue
		}
		if err != nil {
			return 0, 0, err
		}
		ran += time.Duration(st.RunNs)
		waited += time.Duration(st.RunDelayNs)
	}
	return ran, waited, nil
}

// Raise makes every thread of the process RR at SelfPriority. Threads and children
// that it starts later are ordinary ones, so call it again from time to time: what
// it starts must not run before everything else.
func (Self) Raise() error { return selfPolicy(kernel.RR, SelfPriority, true) }

// Drop makes every thread ordinary again.
func (Self) Drop() error { return selfPolicy(kernel.Other, 0, false) }

func selfPolicy(policy kernel.Policy, rtprio int, reset bool) error {
	sched := kernel.System()
	return eachThread(kernel.TID(os.Getpid()), func(tid kernel.TID) error { return sched.SetPolicy(tid, policy, rtprio, reset) })
}
