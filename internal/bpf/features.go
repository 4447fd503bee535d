package bpf

import (
	"os"
	"slices"

	"piton/internal/feature"
	"piton/internal/kernel"
)

// Features lists what this package can give, for pages that say what works
// here. Probing one opens it, uses it once and closes it: some ten milliseconds.
func Features() []*feature.Feature { return append(slices.Clone(features), schedExtFeature) }

// schedExtFeature takes a kernel that few have, and not only rights.
var schedExtFeature = feature.New("sched-ext", tryAggregate)

var features = []*feature.Feature{
	feature.New("ebpf-walk", tryWalk),
	feature.New("ebpf-migrations", tryMigrations),
	feature.New("ebpf-moves", tryMoves),
	feature.New("ebpf-ledger", tryLedger),
	feature.New("ebpf-wakes", tryWakes),
	feature.New("ebpf-work", tryWork),
	feature.New("ebpf-process-events", tryProcEvents),
}

func tryWalk() error {
	w, err := OpenWalk(WalkOptions{})
	if err != nil {
		return err
	}
	defer w.Close()
	_, _, err = w.Read(false)
	return err
}

func tryMigrations() error {
	m, err := OpenMigrations()
	if err != nil {
		return err
	}
	defer m.Close()
	_, _, err = m.Drain(nil)
	return err
}

func tryMoves() error {
	m, err := OpenMoves(MovesBytes)
	if err != nil {
		return err
	}
	defer m.Close()
	_, _, err = m.Read(nil)
	return err
}

func tryLedger() error {
	l, err := OpenLedger()
	if err != nil {
		return err
	}
	defer l.Close()
	_, _, err = l.Drain(nil)
	return err
}

func tryWakes() error {
	w, err := OpenWakes(1024)
	if err != nil {
		return err
	}
	defer w.Close()
	_, _, err = w.Drain(nil)
	return err
}

func tryWork() error {
	w, err := OpenWork(WorkCalls | WorkBytes | WorkWaits)
	if err != nil {
		return err
	}
	defer w.Close()
	_, err = w.Read()
	return err
}

func tryProcEvents() error {
	p, err := OpenProcEvents(os.Getpagesize())
	if err != nil {
		return err
	}
	defer p.Close()
	_, _, err = p.Read(nil, 0)
	return err
}

// tryAggregate loads the scheduler without putting it in force.
func tryAggregate() error {
	if err := schedExtFree(); err != nil {
		return err
	}
	return kernel.WithBPF(func() error {
		a, err := loadAggregator(DefaultAggregateBound)
		if err != nil {
			return err
		}
		return a.Close()
	})
}
