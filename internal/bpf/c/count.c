// SPDX-License-Identifier: MIT OR GPL-2.0
// Counts every migration of every task, by (task, from, to), and how many were
// returns to a CPU that the task left a moment ago.
#include "kernel.h"

enum {
	RETURN_NS = 100 * 1000 * 1000, // a return after longer is no ping-pong
	LEFT = 4,                      // CPUs left that are remembered for each task
};

struct move_key { // moveKey in migrations.go
	u32 tid, tgid;
	u16 from, to;
};

struct move_count { // moveCount in migrations.go
	u32 moves, returns;
};

struct counts { // preallocated: the scheduler's locks are held here
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__uint(key_size, sizeof(struct move_key));
	__uint(value_size, sizeof(struct move_count));
};

struct { // the table that is counted into; draining exchanges it
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, u32);
	__array(values, struct counts);
} tables SEC(".maps");

struct left {
	u64 ns[LEFT];
	u32 cpu[LEFT];
	u64 next;
};

struct { // a task that falls out of it only loses a return
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, u32);
	__type(value, struct left);
} lefts SEC(".maps");

u64 lost; // moves that had no room in the table, since loading

// remember notes that a task left a CPU, and reports whether the CPU it goes to
// is one that it left within RETURN_NS.
INLINE bool remember(u32 tid, u32 from, u32 to)
{
	u64 now = bpf_ktime_get_ns();
	struct left *l = bpf_map_lookup_elem(&lefts, &tid);
	bool returned = 0;

	if (!l) {
		struct left first = { .ns = { now }, .cpu = { from }, .next = 1 };
		bpf_map_update_elem(&lefts, &tid, &first, BPF_ANY);
		return 0;
	}
	for (int i = 0; i < LEFT; i++)
		returned |= l->cpu[i] == to && l->ns[i] && now - l->ns[i] <= RETURN_NS;
	u64 slot = l->next++ % LEFT;
	l->ns[slot] = now;
	l->cpu[slot] = from;
	return returned;
}

SEC("tp_btf/sched_migrate_task")
int count_move(u64 *ctx)
{
	struct task_struct *t = (void *)ctx[0];
	u32 zero = 0;
	struct move_key key = { t->pid, t->tgid, task_cpu(t), (int)ctx[1] };
	struct move_count first = { 1, 0 };

	if (key.from == key.to)
		return 0;
	first.returns = remember(key.tid, key.from, key.to);
	void *table = bpf_map_lookup_elem(&tables, &zero);
	if (!table)
		return 0;
	struct move_count *c = bpf_map_lookup_elem(table, &key);
	if (!c) {
		// A task's moves follow each other, so no other CPU adds this key now.
		if (bpf_map_update_elem(table, &key, &first, BPF_NOEXIST))
			count(lost, 1);
		return 0;
	}
	count(c->moves, 1);
	count(c->returns, first.returns);
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
