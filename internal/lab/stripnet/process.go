package stripnet

import (
	"errors"
	"os"
	"runtime"
	"time"

	"piton/internal/bench"
	"piton/internal/child"
	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/workloads/machine"
)

func runProcess(process *child.Child) error {
	var c config
	if err := process.Hear(&c); err != nil {
		return err
	}
	work := c.read
	if c.Serve {
		work = c.serve
	}
	runtime.LockOSThread()
	p, err := work(process)
	if err != nil {
		return err
	}
	return process.Tell(p)
}

// serve has a thread for each connection, and measures how busy the machine is meanwhile.
func (c config) serve(process *child.Child) (p part, err error) {
	child.ThreadRoom(c.Sockets)
	strips := newStrips()
	ended := make(chan error, c.Sockets)
	for i := range c.Sockets {
		go func() {
			runtime.LockOSThread()
			s := server{fd: firstSocket + i, strips: strips}
			t := s.run()
			_ = kernel.CloseFile(s.fd)
			ended <- t.err("serve strips")
		}()
	}
	if err := process.Ready(); err != nil {
		return p, err
	}
	kernel.Sleep(time.Duration(c.SettleNs))
	began, before := kernel.Monotonic(), bench.ReadHostTicks(procfs.New("/"))
	kernel.Sleep(time.Duration(c.PeriodNs))
	_, busy, ok := bench.ReadHostTicks(procfs.New("/")).Since(before)
	if !ok {
		return p, errors.New("read how busy the CPUs were")
	}
	p.BusyNsPerS = float64(busy) / (kernel.Monotonic() - began).Seconds()
	for range c.Sockets {
		if err := <-ended; err != nil {
			return p, err
		}
	}
	return p, nil
}

// read merges transfers until the period is over, and closes the connections.
func (c config) read(process *child.Child) (p part, err error) {
	child.ThreadRoom(1)
	r := newReader(c)
	if err := process.Ready(); err != nil {
		return p, err
	}
	defer r.close()
	r.next = int64(kernel.Monotonic())
	if t := r.until(r.next + c.SettleNs); !t.ok() {
		return p, t.err("read strips")
	}
	r.bytes, r.same, r.micros = 0, 0, r.micros[:0]
	var misses machine.Misses
	misses.Open()
	before, counted := migrations()
	began := kernel.Monotonic()
	t := r.until(int64(began) + c.PeriodNs)
	p.Seconds = (kernel.Monotonic() - began).Seconds()
	after, countedToo := migrations()
	misses.Read()
	p.Bytes, p.Same, p.Micros = r.bytes, r.same, r.micros
	p.Migrations, p.HaveMigrations = after-before, counted && countedToo
	p.Misses, p.MissesWhy = misses.Count, misses.Why
	return p, t.err("read strips")
}

func migrations() (n uint64, counted bool) {
	st, err := procfs.New("/").Sched(kernel.TID(os.Getpid()), kernel.CallingThread())
	return st.Migrations, err == nil
}
