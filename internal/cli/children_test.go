package cli

import (
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

// sched reads what the kernel says of tasks, and changes the children of a test.
var sched = children{kernel.System()}

type children struct{ kernel.Own }

// change holds the task that a number means now.
func (children) change(tid kernel.TID, f func(kernel.Task) error) error {
	st, err := procfs.New("/").Status(tid)
	if err != nil {
		return err
	}
	ticks, _, err := kernel.StartTicks(st.TGID, tid)
	if err != nil {
		return err
	}
	p, err := kernel.SystemWriter().Hold(st.TGID, 0)
	if err != nil {
		return err
	}
	defer p.Close()
	return f(p.Thread(tid, ticks))
}

func (c children) SetAffinity(tid kernel.TID, cpus cpuset.Set) error {
	if tid == 0 {
		return c.Own.SetAffinity(tid, cpus)
	}
	return c.change(tid, func(t kernel.Task) error { return t.SetAffinity(cpus) })
}

func (c children) SetPolicy(tid kernel.TID, policy kernel.Policy, rtprio int, reset bool) error {
	return c.change(tid, func(t kernel.Task) error { return t.SetPolicy(policy, rtprio, reset) })
}

func (c children) SetNice(tid kernel.TID, nice int) error {
	return c.change(tid, func(t kernel.Task) error { return t.SetNice(nice) })
}

func (c children) SetIOPrio(tid kernel.TID, prio kernel.IOPrio) error {
	return c.change(tid, func(t kernel.Task) error { return t.SetIOPrio(prio) })
}
