// SPDX-License-Identifier: MIT OR GPL-2.0
// Walks all tasks in runs of bounded length and leaves their records in mapped memory
// (Linux 6.2). Between runs the CPU is free for others: a program is not preempted on
// kernels with preempt=none.
//
// Tasks come in the order of their numbers, as in /proc, and a run goes on from the
// number at which the one before stopped. So a task that lives through the walk is
// visited once.
#include "pids.h"
#include "record.h"

extern void bpf_rcu_read_lock(void) __ksym;
extern void bpf_rcu_read_unlock(void) __ksym;
static long (*bpf_loop)(u32 steps, void *step, void *ctx, u64 flags) = (void *)181;

enum {
	CLOCK_EVERY = 16,   // steps, at which the clock is read: some 8 µs of tasks
	MAX_STEPS = 1 << 22, // of a run: bpf_loop takes 8 million
};

// run_ns is after how long a run ends, at the next reading of the clock.
const volatile u32 run_ns = 50000;

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
} record_tables SEC(".maps");

struct threads {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE | BPF_F_INNER_MAP);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, sizeof(struct thread_record));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, u32);
	__array(values, struct threads);
} thread_tables SEC(".maps");

// at is an object of the kernel at an address. Reads of it cannot fault: they give 0.
#define at(address, type) ((type *)bpf_rdonly_cast((void *)(address), kernel_type_id(type)))

// touch reads a field, and nothing comes of it but that its cache line is there.
#define touch(field) ({ u64 now = (u64)(field); asm volatile("" : : "r"(now)); })

// slot is an entry of a node: 0, a task's number (struct pid), or another node.
INLINE u64 slot(u64 node, u32 i)
{
	u64 address = node + field_offset(((struct xa_node *)0)->slots) + (i & (NODE_SLOTS - 1)) * sizeof(void *);
	return at(address, struct cpumask)->bits[0]; // as a number, not as a pointer
}

// task_of is the task that has a number, 0 for none.
INLINE u64 task_of(u64 entry)
{
	if (!entry || entry & 3)
		return 0;
	u64 link = at(entry + field_offset(((struct pid *)0)->tasks), struct cpumask)->bits[0];
	return link ? link - field_offset(((struct task_struct___pid *)0)->pid_links) : 0;
}

// fetch asks for the cache lines of the tasks that come next, all at once. The walk
// would else wait for them one by one: those of 10,000 tasks are more than a cache holds
// (measured: a third of the walk). whole says that all of a record is going to be read.
INLINE void fetch(u64 leaf, u32 i, bool whole)
{
	if (i + 3 >= NODE_SLOTS)
		return;
	u64 third = slot(leaf, i + 3), second = task_of(slot(leaf, i + 2));
	if (third && !(third & 3))
		touch(at(third, struct pid)->tasks[0].first);
	if (second) {
		struct task_struct *t = at(second, struct task_struct);
		touch(t->prio);
		touch(t->se.sum_exec_runtime);
		touch(t->se.nr_migrations);
		touch(t->se.avg.load_avg);
		touch(t->policy);
		touch(t->tgid);
		touch(t->utime);
		touch(t->nvcsw);
		if (field_exists(t->sched_info.pcount))
			touch(t->sched_info.pcount);
		if (whole) {
			touch(t->flags);
			touch(t->mm);
			touch(t->exit_state);
			touch(t->real_parent);
			touch(t->cred);
			touch(t->signal);
		}
	}
	u64 next = whole ? task_of(slot(leaf, i + 1)) : 0;
	if (next) {
		struct task_struct *t = at(next, struct task_struct);
		touch(t->cred->euid.val);
		touch(t->signal->nr_threads);
		touch(t->signal->sum_sched_runtime);
		touch(t->real_parent->tgid);
		if (t->mm) {
			touch(t->mm->rss_stat[0].count);
			touch(t->mm->rss_stat[3].count);
		}
	}
}

// visit writes the record of a task. What is told of it is under the number by which it
// was found: an exec of a thread, which takes its process's number, can change it meanwhile.
INLINE void visit(struct task_struct *t, u32 tid, u32 tgid, struct walk_state *s)
{
	u32 zero = 0;

	s->tasks++;
	if (tid != tgid && !s->all) {
		void *table = bpf_map_lookup_elem(&thread_tables, &zero);
		struct thread_record *r = table ? bpf_map_lookup_elem(table, &s->threads) : NULL;
		if (!r) {
			s->lost_threads++;
			return;
		}
		s->threads++;
		r->tid = tid;
		r->tgid = tgid;
		read_thread(r, t, t, s);
		return;
	}
	void *table = bpf_map_lookup_elem(&record_tables, &zero);
	struct task_record *r = table ? bpf_map_lookup_elem(table, &s->records) : NULL;
	if (!r) {
		s->lost_records++;
		return;
	}
	s->records++;
	r->thread.tid = tid;
	r->thread.tgid = tgid;
	read_thread(&r->thread, t, t, s);
	read_task(r, t, t);
	if (tid == tgid)
		add_exited(r, t);
}

struct run {
	u64 root; // address of the tree
	u64 leaf; // node of the next number, 0 for unknown
	u64 end;  // by bpf_ktime_get_ns
};

// used_slot is the first slot at or after one that is not empty, else NODE_SLOTS. Not
// static, so that the verifier reads it once, not at each call and in each state: 6,200
// instructions instead of 93,500. Such a function takes numbers, no pointers.
__attribute__((noinline)) u32 used_slot(u64 node, u32 i)
{
	for (u32 n = 0; n < 64 && i < NODE_SLOTS && !slot(node, i); n++)
		i++;
	return i;
}

// find_leaf finds the leaf of the next number, or moves that on to where a leaf may be.
INLINE void find_leaf(struct run *r, struct walk_state *s)
{
	u32 next = s->next;
	u64 entry = at(r->root + field_offset(((struct xarray *)0)->xa_head), struct cpumask)->bits[0];

	for (int level = 0; level < MAX_LEVELS && is_node(entry); level++) {
		u64 node = entry - NODE_TAG;
		u32 shift = at(node, struct xa_node)->shift & 31;
		if (!level && (u64)next >> shift >> NODE_BITS)
			break;
		if (!shift) {
			r->leaf = node;
			return;
		}
		u32 i = (next >> shift) & (NODE_SLOTS - 1), used = used_slot(node, i);
		entry = slot(node, used);
		if (used != i || !is_node(entry)) { // or it became empty just now
			s->next = ((next >> shift) + (used == i ? 1 : used - i)) << shift;
			return;
		}
	}
	s->done = 1;
}

static long step(u32 n, struct run *r)
{
	u32 zero = 0;
	struct walk_state *s = bpf_map_lookup_elem(&state, &zero);

	if (!s)
		return 1;
	if (n % CLOCK_EVERY == CLOCK_EVERY - 1 && bpf_ktime_get_ns() > r->end)
		return 1;
	if (!r->leaf) {
		find_leaf(r, s);
		if (!r->leaf)
			return s->done ? 1 : 0;
	}
	u64 leaf = r->leaf;
	u32 begun = s->next & (NODE_SLOTS - 1), i = used_slot(leaf, begun), tid = s->next - begun + i;
	s->next = tid + 1;
	if (i + 1 >= NODE_SLOTS) {
		r->leaf = 0;
		if (i >= NODE_SLOTS) {
			s->next = tid;
			return 0;
		}
	}
	u64 found = task_of(slot(leaf, i));
	if (!found)
		return 0;
	struct task_struct *t = at(found, struct task_struct);
	u32 tgid = t->tgid;
	fetch(leaf, i, tid == tgid || s->all);
	visit(t, tid, tgid, s);
	return 0;
}

SEC("syscall")
int walk(void *ctx)
{
	struct task_struct___pid *own = at(bpf_get_current_task_btf(), struct task_struct___pid);
	struct run r = {.end = bpf_ktime_get_ns() + run_ns};

	bpf_rcu_read_lock();
	r.root = (u64)own->thread_pid->numbers[0].ns + field_offset(((struct pid_namespace *)0)->idr.idr_rt);
	bpf_loop(MAX_STEPS, step, &r, 0);
	bpf_rcu_read_unlock();
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
