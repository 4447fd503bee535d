// SPDX-License-Identifier: MIT OR GPL-2.0
// Walks all tasks in one run and leaves their records in mapped memory
// (open-coded task iterator, Linux 6.7).
#include "record.h"

struct bpf_iter_task {
	u64 opaque[3];
};

extern int bpf_iter_task_new(struct bpf_iter_task *it, struct task_struct *task, unsigned int flags) __ksym;
extern struct task_struct *bpf_iter_task_next(struct bpf_iter_task *it) __ksym;
extern void bpf_iter_task_destroy(struct bpf_iter_task *it) __ksym;
extern void bpf_rcu_read_lock(void) __ksym;
extern void bpf_rcu_read_unlock(void) __ksym;

enum { BPF_TASK_ITER_ALL_THREADS = 1 };
enum { NO_LEADER = 0xffffffff };

struct records {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE | BPF_F_INNER_MAP);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, sizeof(struct task_record));
};

struct { // one array, exchanged for a larger one as the machine grows
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, u32);
	__array(values, struct records);
} tables SEC(".maps");

// add_thread adds a thread to its process: the iterator yields a leader and
// then its threads, so the leader's record is the last one made.
INLINE void add_thread(void *table, struct task_struct *t, struct task_struct *p, struct walk_state *s)
{
	struct task_record *r = bpf_map_lookup_elem(table, &s->leader);

	if (!r || s->leader == NO_LEADER || s->leader_tid != t->tgid)
		return;
	r->user_ns += t->utime;
	r->system_ns += t->stime;
	r->cpu_ns += t->se.sum_exec_runtime;
	r->minor_faults += t->min_flt;
	r->major_faults += t->maj_flt;
	r->migrations += t->se.nr_migrations;
	r->voluntary += t->nvcsw;
	r->involuntary += t->nivcsw;
	r->load += queue_load(p);
}

// touch reads a field, and nothing comes of it but that its cache line is there.
#define touch(field) ({ u64 now = (u64)(field); asm volatile("" : : "r"(now)); })

// fetch_next asks for the cache lines of the thread that comes next, all at once. The
// walk would else wait for them one by one: those of 30,000 threads are more than a
// cache holds (measured: a seventh of the walk; of processes, whose memory hangs on
// more pointers, nothing).
INLINE void fetch_next(struct task_struct *p)
{
	void *node = p->thread_node.next;
	if (node == (void *)p->signal + field_offset(p->signal->thread_head))
		return; // the last of its process
	struct task_struct *next = bpf_rdonly_cast(node - field_offset(p->thread_node), kernel_type_id(struct task_struct));

	touch(next->flags);
	touch(next->prio);
	touch(next->se.sum_exec_runtime);
	touch(next->se.nr_migrations);
	touch(next->se.avg.load_avg);
	touch(next->policy);
	touch(next->mm);
	touch(next->exit_state);
	touch(next->pid);
	touch(next->real_parent);
	touch(next->utime);
	touch(next->nvcsw);
	touch(next->cred);
	touch(next->signal);
	if (field_exists(next->sched_info.pcount))
		touch(next->sched_info.pcount);
}

INLINE void visit(void *table, struct task_struct *t, struct walk_state *s)
{
	struct task_struct *p = bpf_rdonly_cast(t, kernel_type_id(struct task_struct));
	bool leader = t->pid == t->tgid;

	if (s->threads)
		fetch_next(p);
	s->tasks++;
	if (!leader)
		add_thread(table, t, p, s);
	if (!leader && !s->threads) {
		read_run_queue(p, s);
		return;
	}
	if (leader) {
		s->leader = NO_LEADER;
		s->leader_tid = t->tgid;
	}
	u32 at = s->written;
	struct task_record *r = at < s->capacity ? bpf_map_lookup_elem(table, &at) : NULL;
	if (!r) {
		s->truncated++;
		return;
	}
	s->written = at + 1;
	read_task(r, t, p, s);
	if (leader) {
		s->leader = at;
		add_exited(r, p);
	}
}

SEC("syscall")
int walk(void *ctx)
{
	u32 zero = 0;
	struct walk_state *s = bpf_map_lookup_elem(&state, &zero);
	void *table = bpf_map_lookup_elem(&tables, &zero);
	struct bpf_iter_task it;
	struct task_struct *t;

	if (!s || !table)
		return 1;
	bpf_rcu_read_lock();
	bpf_iter_task_new(&it, NULL, BPF_TASK_ITER_ALL_THREADS);
	while ((t = bpf_iter_task_next(&it))) {
		if (t->pid) // the iterator starts at the first CPU's idle task
			visit(table, t, s);
	}
	bpf_iter_task_destroy(&it);
	bpf_rcu_read_unlock();
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
