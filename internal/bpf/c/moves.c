// SPDX-License-Identifier: MIT OR GPL-2.0
// Reports each migration of chosen tasks as it happens, and counts those for
// which there was no room by (task, from, to).
#include "kernel.h"

struct move { // Move in moves.go
	u64 ns; // CLOCK_MONOTONIC
	u32 tid, tgid;
	u16 from, to;
	u32 before; // moves of the task before this one, by the kernel's own count
};
_Static_assert(sizeof(struct move) == 24, "Move in moves.go");

struct { // the loader sets the size
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} events SEC(".maps");

struct { // ids of threads and of processes; room for the old and the new ones at once
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, u32);
	__type(value, u8);
} targets SEC(".maps");

struct lost_key { // moveKey in migrations.go
	u32 tid, tgid;
	u16 from, to;
};

struct lost_count { // moveCount in migrations.go
	u32 moves, returns; // the latter are not looked for
};

struct lost_counts { // preallocated: the scheduler's locks are held here
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__uint(key_size, sizeof(struct lost_key));
	__uint(value_size, sizeof(struct lost_count));
};

struct { // the table that is counted into; reading exchanges it
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, u32);
	__array(values, struct lost_counts);
} tables SEC(".maps");

u64 lost;       // moves of targets that found the ring full, since loading
u64 unfollowed; // children of targets for which there was no room, since loading
u32 follow;     // children of targets become targets

// lose counts a move that is not reported. That it has no room there either
// shows in the sums.
INLINE void lose(u32 tid, u32 tgid, u32 from, u32 to)
{
	struct lost_key key = { tid, tgid, from, to };
	struct lost_count first = { 1, 0 };
	u32 zero = 0;

	count(lost, 1);
	void *table = bpf_map_lookup_elem(&tables, &zero);
	if (!table)
		return;
	struct lost_count *c = bpf_map_lookup_elem(table, &key);
	if (c)
		count(c->moves, 1);
	else // a task's moves follow each other, so no other CPU adds this key now
		bpf_map_update_elem(table, &key, &first, BPF_NOEXIST);
}

SEC("tp_btf/sched_migrate_task")
int report_move(u64 *ctx)
{
	struct task_struct *t = (void *)ctx[0];
	u32 tid = t->pid, tgid = t->tgid;
	u32 from = task_cpu(t), to = (int)ctx[1];

	if (from == to)
		return 0;
	if (!bpf_map_lookup_elem(&targets, &tgid) && !bpf_map_lookup_elem(&targets, &tid))
		return 0;
	struct move *m = bpf_ringbuf_reserve(&events, sizeof(*m), 0);
	if (!m) {
		lose(tid, tgid, from, to);
		return 0;
	}
	m->ns = bpf_ktime_get_ns();
	m->tid = tid;
	m->tgid = tgid;
	m->from = from;
	m->to = to;
	m->before = t->se.nr_migrations; // is raised after the tracepoint, set_task_cpu in kernel/sched/core.c
	bpf_ringbuf_submit(m, BPF_RB_NO_WAKEUP); // the reader polls: a burst costs no wakeups
	return 0;
}

SEC("tp_btf/sched_process_fork")
int follow_fork(u64 *ctx)
{
	struct task_struct *parent = (void *)ctx[0], *child = (void *)ctx[1];
	u32 old = parent->tgid, new = child->tgid;
	u8 yes = 1;

	if (follow && old != new && bpf_map_lookup_elem(&targets, &old) &&
	    bpf_map_update_elem(&targets, &new, &yes, BPF_ANY))
		count(unfollowed, 1);
	return 0;
}

// A number that is free may soon be another task's.
SEC("tp_btf/sched_process_free")
int forget_task(u64 *ctx)
{
	struct task_struct *t = (void *)ctx[0];
	u32 tid = t->pid;

	bpf_map_delete_elem(&targets, &tid);
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
