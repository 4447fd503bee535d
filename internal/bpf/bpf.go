// Package bpf sees what only the kernel sees, through eBPF programs that run in
// it: all tasks of the machine in one pass (Walk), every migration (Migrations
// counts them, Moves reports them one by one), who had each CPU for how long
// (Ledger), which thread wakes which (Wakes), on which CPUs packets are handled and read
// (Flows), what processes do (Work), and which begin, execute and end (ProcEvents). It decides nothing and computes no rates, but
// for Aggregate: a scheduler for tasks that ask for it, while it is open.
//
// Each subject is an object of its own that is loaded when it is opened and
// leaves nothing in the kernel after Close. Opening needs CAP_BPF and
// CAP_PERFMON (or root) and /sys/kernel/btf/vmlinux; where it cannot work the
// error Is feature.ErrNotSupported and says in a sentence what is missing.
//
// The programs are in c/, compiled by generate.sh; users need no compiler.
// Start at OpenWalk.
package bpf

//go:generate ./generate.sh
