package irq

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"syscall"

	"piton/internal/kernel"
)

// Reader reads Snapshots, and keeps between them what does not change while a
// line has the same handlers. It is not safe for concurrent use.
type Reader struct {
	fs    FS
	facts map[int]Facts
}

// NewReader returns a Reader of the FS.
func (f FS) NewReader() *Reader { return &Reader{fs: f, facts: map[int]Facts{}} }

// ErrMasked is what the error of Read is where /proc/interrupts is hidden: container
// runtimes put /dev/null over it, or an empty directory, or take the right to read it.
var ErrMasked = errors.New("/proc/interrupts is masked in this container; run piton on the host")

// Read reads everything. Only /proc/interrupts must be there; what else is
// missing has no value.
func (r *Reader) Read() (*Snapshot, error) {
	b, err := r.fs.proc.File("interrupts")
	if err == nil && len(b) == 0 || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EISDIR) {
		return nil, ErrMasked
	}
	if err != nil {
		return nil, err
	}
	s := &Snapshot{At: kernel.Monotonic()}
	in, err := ParseInterrupts(b)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", r.fs.proc.Path("interrupts"), err)
	}
	s.CPUs, s.Odd = in.CPUs, in.Odd
	numbered := in.Lines[:0:0]
	for _, l := range in.Lines {
		if l.Number >= 0 {
			numbered = append(numbered, l)
		} else {
			s.Named = append(s.Named, Named{l.Name, l.Counts, l.Text})
		}
	}
	if err := r.learn(numbered); err != nil {
		return nil, err
	}
	for _, l := range numbered {
		s.IRQs = append(s.IRQs, IRQ{
			Number: l.Number, Counts: l.Counts, Facts: r.facts[l.Number],
			Requested: r.fs.Requested(l.Number), Effective: r.fs.Effective(l.Number), Spurious: r.fs.spurious(l.Number),
		})
	}
	s.Default = r.fs.Default()
	s.SoftIRQs = r.fs.softIRQs(s)
	return s, nil
}

// softIRQs reads /proc/softirqs, which has a column for each possible CPU, as
// those of s.
func (f FS) softIRQs(s *Snapshot) []Named {
	b, err := f.proc.File("softirqs")
	if err != nil {
		return nil
	}
	in, err := ParseInterrupts(b)
	if err != nil {
		return nil
	}
	s.Odd = cmp.Or(s.Odd, in.Odd)
	at := map[int]int{}
	for i, c := range in.CPUs {
		at[int(c)] = i
	}
	var out []Named
	for _, l := range in.Lines {
		if len(l.Counts) < len(in.CPUs) {
			out = append(out, Named{Name: l.Name})
			continue
		}
		counts := make([]uint64, len(s.CPUs))
		for i, c := range s.CPUs {
			if j, ok := at[int(c)]; ok {
				counts[i] = l.Counts[j]
			}
		}
		out = append(out, Named{Name: l.Name, Counts: counts})
	}
	return out
}

// learn reads the facts of lines that are new or have other handlers than
// before, or whose threads have ended.
func (r *Reader) learn(lines []Line) error {
	stale := false
	for _, l := range lines {
		known, ok := r.facts[l.Number]
		stale = stale || !ok || known.Text != l.Text || !r.fs.alive(known.Threads)
	}
	if !stale && len(lines) == len(r.facts) {
		return nil
	}
	found := r.fs.newDevices()
	threads, err := r.fs.threads()
	if err != nil {
		return err
	}
	clear(r.facts)
	for _, l := range lines {
		facts := r.fs.facts(l)
		facts.Device = found.of(l.Number, facts.Actions)
		facts.Threads = threads[l.Number]
		r.facts[l.Number] = facts
	}
	return nil
}

// Monitor makes a Table at each reading, with the rates since the last one.
type Monitor struct {
	mu     sync.Mutex // readings one after the other
	reader *Reader
	last   *Snapshot
}

// NewMonitor returns the Monitor of a root: "/" or "" for this machine.
func NewMonitor(root string) *Monitor { return &Monitor{reader: New(root).NewReader()} }

// Table reads the interrupts; the first one has no rates.
func (m *Monitor) Table() (Table, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.reader.Read()
	if err != nil {
		return Table{}, err
	}
	t := Next(m.last, s)
	m.last = s
	return t, nil
}
