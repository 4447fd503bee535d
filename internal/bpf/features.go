package bpf

import "piton/internal/feature"

// Features lists what this package can give, for pages that say what works
// here. Probing one opens it, uses it once and closes it: some ten milliseconds.
func Features() []*feature.Feature { return features }

var features = []*feature.Feature{
	feature.New("ebpf-walk", "all tasks in one pass inside the kernel", tryWalk),
	feature.New("ebpf-migrations", "every migration, with from and to", tryMigrations),
	feature.New("ebpf-moves", "migrations as they happen", tryMoves),
	feature.New("ebpf-ledger", "who had each CPU for how long", tryLedger),
}

func tryWalk() error {
	w, err := OpenWalk(WalkOptions{})
	if err != nil {
		return err
	}
	defer w.Close()
	_, _, err = w.Read(nil, false)
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
