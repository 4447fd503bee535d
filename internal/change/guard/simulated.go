package guard

import (
	"net"
	"slices"
	"sync"
	"time"

	"piton/internal/change"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

// Simulated is the pages of a simulated machine, in memory, for
// internal/change/simulate and internal/demo: what runs on them is the code of real guards.
type Simulated struct {
	Machine
	mu   sync.Mutex
	list []*page
}

// Machine is what a guard needs of a machine besides the files of pages.
type Machine interface {
	Stat(pid kernel.TID) (procfs.Stat, error)
	Now() time.Duration // CLOCK_BOOTTIME
	Sleep(time.Duration)
	Namespaces() [2]uint64 // PID and time, of the process that runs now, by inode; 0 = the kernel has none
}

// Link is the guard's end of the connection to the piton that armed it.
type Link interface {
	Await(most time.Duration) (data []byte, open bool)
	Answer(byte)
}

// Sentry is a simulated guard: its page and its process.
type Sentry struct{ s sentry }

// Launcher returns the Launcher of a journal on the machine. Its Arm is not for use.
func (m *Simulated) Launcher(journal string) Launcher { return Launcher{Journal: journal, host: m} }

// Arm makes the page of a guard and both of its ends: for its process, and for the
// piton that armed it. conn is the connection's end of that one.
func (m *Simulated) Arm(journal string, after time.Duration, pid kernel.TID, conn net.Conn, link Link) (*Sentry, change.Guard) {
	p := &page{bytes: make([]byte, pageSize), host: m} // a slice of this size is aligned to its words
	p.begin(journal, after)
	for i, ns := range m.Namespaces() {
		p.word(wordPIDNS + i).Store(ns)
	}
	m.mu.Lock()
	m.list = append(m.list, p)
	m.mu.Unlock()
	s := &Sentry{sentry{page: p, parent: link, newer: m.Launcher(journal).newer(p)}}
	epoch := func() time.Time { return time.Unix(0, int64(m.Now())) }
	return s, &armed{page: p, after: after, pid: int(pid), conn: conn, now: epoch}
}

// Run is the life of the guard's process: bare is its Tuner without a journal, record
// that with one.
func (g *Sentry) Run(pid kernel.TID, startTicks uint64, ready func(), bare *change.Tuner, record func(command string) *change.Tuner) {
	s := &g.s
	s.born, s.bare, s.record = startTicks, bare, record
	s.page.word(wordStart).Store(startTicks)
	s.page.word(wordPID).Store(uint64(pid))
	ready()
	s.watch()
	s.page.remove()
}

// Terminate is SIGTERM.
func (g *Sentry) Terminate() { g.s.terminated.Store(true) }

// Remove removes the page of a guard that did not start.
func (g *Sentry) Remove() { g.s.page.remove() }

// State is how far the guarded change is, and the entry that says what it is, 0 while
// the guard has not been told.
func (g *Sentry) State() (State, uint64) { return g.s.page.state(), g.s.page.entry() }

// Due is when the change is reverted, by CLOCK_BOOTTIME; 0 while that is not known.
func (g *Sentry) Due() time.Duration { return time.Duration(g.s.page.word(wordDue).Load()) }

func (m *Simulated) pages(string) ([]*page, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.list), nil
}

func (m *Simulated) remove(p *page) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = slices.DeleteFunc(m.list, func(o *page) bool { return o == p })
}
