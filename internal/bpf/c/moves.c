// SPDX-License-Identifier: MIT OR GPL-2.0
// Reports each migration of chosen tasks as it happens.
#include "kernel.h"

struct move { // Move in moves.go
	u64 ns; // CLOCK_MONOTONIC
	u32 tid, tgid;
	u16 from, to;
	u32 pad;
};
_Static_assert(sizeof(struct move) == 24, "Move in moves.go");

struct { // the loader sets the size
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} events SEC(".maps");

struct { // ids of threads and of processes
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, u32);
	__type(value, u8);
} targets SEC(".maps");

u64 lost;       // moves of targets that found the ring full, since loading
u32 everything; // all tasks are targets

SEC("tp_btf/sched_migrate_task")
int report_move(u64 *ctx)
{
	struct task_struct *t = (void *)ctx[0];
	u32 tid = t->pid, tgid = t->tgid;
	u32 from = task_cpu(t), to = (int)ctx[1];

	if (from == to)
		return 0;
	if (!everything && !bpf_map_lookup_elem(&targets, &tgid) && !bpf_map_lookup_elem(&targets, &tid))
		return 0;
	struct move *m = bpf_ringbuf_reserve(&events, sizeof(*m), 0);
	if (!m) {
		count(lost, 1);
		return 0;
	}
	m->ns = bpf_ktime_get_ns();
	m->tid = tid;
	m->tgid = tgid;
	m->from = from;
	m->to = to;
	m->pad = 0;
	bpf_ringbuf_submit(m, BPF_RB_NO_WAKEUP); // the reader polls: a burst costs no wakeups
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
