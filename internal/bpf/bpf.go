// Package bpf sees what only the kernel sees, through eBPF programs that run in
// it: all tasks of the machine in one pass (Walk), every migration (Migrations
// counts them, Moves reports them one by one), who had each CPU for how long
// (Ledger), which thread wakes which (Wakes), on which CPUs packets are handled and read
// (Flows), what processes do (Work), what interrupts one on
// its CPU (Noise), which begin, execute and end (ProcEvents), and who
// sets how tasks and control groups are scheduled (Changes).
// Package waits below it sees what tasks wait for. It decides nothing and computes no rates.
//
// Each subject is an object of its own that is loaded when it is opened and
// leaves nothing in the kernel after Close. Opening needs CAP_BPF and
// CAP_PERFMON (or root) and /sys/kernel/btf/vmlinux; where it cannot work the
// error Is feature.ErrNotSupported and says in a sentence what is missing.
//
// The programs are in c/, compiled by generate.sh; users need no compiler.
// Start at OpenWalk.
package bpf

import _ "embed" // the objects

//go:generate ./generate.sh

// opened is a subject, nil if it could not be opened.
func opened[T any](subject *T, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	return subject, nil
}

var (
	//go:embed changes_bpfel.o
	changesObject []byte
	//go:embed count_bpfel.o
	countObject []byte
	//go:embed flows_bpfel.o
	flowsObject []byte
	//go:embed ledger_bpfel.o
	ledgerObject []byte
	//go:embed moves_bpfel.o
	movesObject []byte
	//go:embed noise_bpfel.o
	noiseObject []byte
	//go:embed procevents_bpfel.o
	proceventsObject []byte
	//go:embed seq_bpfel.o
	seqObject []byte
	//go:embed wakes_bpfel.o
	wakesObject []byte
	//go:embed walk_bpfel.o
	walkObject []byte
	//go:embed work_bpfel.o
	workObject []byte
)
