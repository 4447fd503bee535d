package bpf

import (
	"os"

	"piton/internal/feature"
)

// Features are what this package can give and, when it is there, the laboratory, for pages that
// say what works here. Probing one opens it, uses it once and closes it: some ten milliseconds.
var Features = []*feature.Feature{
	feature.New("ebpf-walk", once(func() (*Walk, error) { return OpenWalk(WalkOptions{}) },
		func(w *Walk) error { _, _, _, err := w.Read(false); return err })),
	feature.New("ebpf-migrations", once(OpenMigrations,
		func(m *Migrations) error { _, _, err := m.Drain(nil); return err })),
	feature.New("ebpf-moves", once(func() (*Moves, error) { return OpenMoves(MovesBytes) },
		func(m *Moves) error { _, _, err := m.Read(nil); return err })),
	feature.New("ebpf-ledger", once(OpenLedger,
		func(l *Ledger) error { _, _, err := l.Drain(nil); return err })),
	feature.New("ebpf-wakes", once(func() (*Wakes, error) { return OpenWakes(1024) },
		func(w *Wakes) error { _, _, err := w.Drain(nil); return err })),
	feature.New("ebpf-flows", once(func() (*Flows, error) { return OpenFlows(FlowsOfProcess) },
		func(f *Flows) error { _, _, err := f.Drain(nil); return err })),
	feature.New("ebpf-work", once(func() (*Work, error) { return OpenWork(WorkCalls | WorkBytes | WorkWaits) },
		func(w *Work) error { _, err := w.Read(); return err })),
	feature.New("ebpf-process-events", once(func() (*ProcEvents, error) { return OpenProcEvents(os.Getpagesize()) },
		func(p *ProcEvents) error { _, _, err := p.Read(nil, 0); return err })),
	feature.New("ebpf-changes", once(func() (*Changes, error) { return OpenChanges(os.Getpagesize()) },
		func(c *Changes) error { _, _, err := c.Read(nil); return err })),
}

// once is a probe that opens a subject, uses it once and closes it.
func once[T interface{ Close() }](open func() (T, error), use func(T) error) func() error {
	return func() error {
		subject, err := open()
		if err != nil {
			return err
		}
		defer subject.Close()
		return use(subject)
	}
}
