package demo

import (
	"errors"
	"net"
	"os"
	"time"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/guard"
	"piton/internal/change/journal"
	"piton/internal/crash"
	"piton/internal/kernel"
	"piton/internal/kernel/kernelfake"
	"piton/internal/partition"
	"piton/internal/procfs"
)

// rights are those of root.
const rights kernel.Capabilities = 1<<kernel.CapSysNice | 1<<kernel.CapDACOverride

// sources is the machine as the change path reads it.
func (m *Machine) sources() attr.Sources {
	return attr.Sources{Sched: m.fake, Files: m.files, Proc: m.proc, EUID: func() int { return 0 },
		Rights: func() (kernel.Capabilities, error) { return rights, nil },
		Limits: func(kernel.TID) (kernel.Limits, error) { return kernel.Limits{}, nil }, Initial: func(string) bool { return true }}
}

// newTuner returns the change path on the fake kernel, with a journal in memory.
func (m *Machine) newTuner() *change.Tuner {
	j := journal.New(&journal.Memory{}, journal.Where{Boot: "demo", Namespaces: journal.Namespaces{PID: 1, Time: 1, User: 1, Mount: 1}})
	o := change.Options{Sources: m.sources(), Writer: m.fake, FileWriter: m.files, User: "demo", Command: "piton demo"}
	bare := change.New(o) // a guard reverts first, and records it then
	o.Journal = j
	g := &guards{bare: bare}
	g.pages = &guard.Simulated{Machine: g}
	g.Launcher = g.pages.Launcher(Host)
	g.record = func(command string) *change.Tuner {
		by := o
		by.Command, by.Guards = command, g
		return change.New(by)
	}
	o.Guards = g
	m.guards, m.journal = g, j
	return change.New(o)
}

// guards are change.Guards whose processes are goroutines: the code of the real guard
// on pages in memory.
type guards struct {
	guard.Launcher
	pages  *guard.Simulated
	bare   *change.Tuner
	record func(command string) *change.Tuner
	armed  kernel.TID
}

// firstGuard is above every number that a Linux process can have (pid_max).
const firstGuard kernel.TID = 5_000_000

// Arm is part of change.Guards. It is called under the user's lock.
func (g *guards) Arm(after time.Duration) (change.Guard, error) {
	g.armed++
	pid := firstGuard + g.armed
	ours, theirs := net.Pipe()
	sentry, armed := g.pages.Arm(Host, after, pid, ours, wire{theirs})
	ready := make(chan struct{})
	go func() {
		defer crash.Handle()
		sentry.Run(pid, 1, func() { close(ready) }, g.bare, g.record)
	}()
	<-ready
	return armed, nil
}

// Stat is part of guard.Machine: a guard runs as long as its page is there.
func (g *guards) Stat(pid kernel.TID) (procfs.Stat, error) {
	return procfs.Stat{TID: pid, StartTicks: 1, State: 'S'}, nil
}

// Now is part of guard.Machine; deadlines of connections are by the same clock.
func (g *guards) Now() time.Duration { return time.Duration(time.Now().UnixNano()) }

// Sleep is part of guard.Machine.
func (g *guards) Sleep(d time.Duration) { time.Sleep(d) }

// Namespaces is part of guard.Machine.
func (g *guards) Namespaces() [2]uint64 { return [2]uint64{1, 1} }

// wire is the guard's end of the connection.
type wire struct{ net.Conn }

// Await is part of guard.Link.
func (w wire) Await(most time.Duration) (data []byte, open bool) {
	data = make([]byte, 64<<10)
	if err := w.SetReadDeadline(time.Now().Add(most)); err != nil {
		return nil, false
	}
	n, err := w.Read(data)
	return data[:n], err == nil || errors.Is(err, os.ErrDeadlineExceeded)
}

// Answer is part of guard.Link. Nobody may be there to read it any more.
func (w wire) Answer(b byte) {
	if w.SetWriteDeadline(time.Now().Add(time.Second)) == nil {
		_, _ = w.Write([]byte{b})
	}
}

// facts is the machine as isolating looks at it.
func (m *Machine) facts() (partition.Facts, error) {
	m.mu.Lock()
	f := partition.Facts{Ticks: uint64(m.count.Up().Seconds() * kernelfake.TicksPerS), Online: m.all(), IRQs: m.snapshot().IRQs}
	m.mu.Unlock()
	err := f.ReadTasks(m.tuner.Machine)
	return f, err
}
