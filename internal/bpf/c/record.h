// SPDX-License-Identifier: MIT OR GPL-2.0
// One task as the walk reports it, and how it is read; shared by the two
// programs that walk.
#pragma once
#include "kernel.h"

enum {
	MASK_WORDS = 128,   // 8192 CPUs, Linux's limit
	MAX_MASKS = 2048,   // maxMasks in walk.go
	NO_MASK = 0xffffffff,
	PF_KTHREAD = 0x00200000,
	MAX_RT_PRIO = 100,
	MAX_GROUPS = 8,     // a task is that deep in cgroups with the cpu controller
};

// Figures that depend on the kernel's configuration; Have in record.go.
enum {
	HAVE_RUN_DELAY = 1,
	HAVE_RUN_QUEUES = 2,
};

struct thread_record { // Thread in record.go
	u64 user_ns, system_ns, run_ns, run_delay_ns, slices, migrations;
	u64 voluntary, involuntary, minor_faults, major_faults;
	u32 tid, tgid, mask, load;
	u8 policy, rtprio;
	s8 nice;
	u8 pad[5];
};
_Static_assert(sizeof(struct thread_record) == 104, "Thread in record.go");

struct task_record { // Record in record.go
	struct thread_record thread;
	u64 start_ns, cpu_ns;
	s64 rss_pages;
	u32 ppid, uid, flags, threads, cpu;
	char comm[16];
	s16 priority;
	u8 state, pad;
};
_Static_assert(sizeof(struct task_record) == 168, "Record in record.go");

struct cpu_record { // cpuRecord in runqueue.go
	u64 load_avg, clock_ns, switches;
	u32 pass, running, rt_avg, dl_avg, irq_avg, pad;
};
_Static_assert(sizeof(struct cpu_record) == 48, "cpuRecord in runqueue.go");

// What a walk is told and what it answers besides records. One walk runs at a time.
struct walk_state { // walkState in walk.go
	u32 all;     // in: a whole record for every thread, not only for processes
	u32 pass;    // in: number of this walk, marks the CPU records it filled
	u32 next;    // in and out: the number of the task to go on from
	u32 done;    // there is no task at or above it
	u32 masks;   // in and out: rows of the mask table in use
	u32 records, threads;             // in and out: entries of the tables in use
	u32 lost_records, lost_threads;   // in and out: those that found no room
	u32 tasks, mask_overflow, have;   // in and out
	u32 last_mask, pad;
	u64 last_hash;
	u64 mask[MASK_WORDS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct walk_state);
} state SEC(".maps");

struct { // rows of mask_words words; the loader cuts the value to that
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, MAX_MASKS);
	__uint(key_size, 4);
	__uint(value_size, MASK_WORDS * 8);
} masks SEC(".maps");

struct { // from the hash of a mask to its row; it outlives a walk
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_MASKS);
	__type(key, u64);
	__type(value, u32);
} mask_rows SEC(".maps");

struct { // by CPU; the loader sets the number of entries
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct cpu_record);
} cpus SEC(".maps");

// mask_words is how many words of an affinity mask this machine uses.
const volatile u32 mask_words = MASK_WORDS;

// mask_row returns the row of a task's affinity mask in the table of distinct
// masks. cpus_mask is what sched_getaffinity(2) reports; cpus_ptr would be one
// CPU while the task has migration disabled. A single word is its own hash.
INLINE u32 mask_row(struct task_struct *t, struct walk_state *s)
{
	u64 hash = 0;

	if (mask_words == 1) {
		hash = t->cpus_mask.bits[0];
		s->mask[0] = hash;
	} else {
		bpf_probe_read_kernel(s->mask, mask_words * 8, &t->cpus_mask);
		for (u32 i = 0; i < mask_words && i < MASK_WORDS; i++) {
			hash = (hash ^ s->mask[i]) * 0x9e3779b97f4a7c15ULL;
			hash ^= hash >> 32;
		}
	}
	if (hash == s->last_hash && s->last_mask != NO_MASK)
		return s->last_mask;

	u32 row = s->masks;
	u32 *known = bpf_map_lookup_elem(&mask_rows, &hash);
	if (known) {
		row = *known;
	} else {
		u64 *words = bpf_map_lookup_elem(&masks, &row);
		if (!words || bpf_map_update_elem(&mask_rows, &hash, &row, BPF_ANY)) {
			s->mask_overflow++;
			return NO_MASK;
		}
		bpf_probe_read_kernel(words, mask_words * 8, s->mask);
		s->masks++;
	}
	s->last_hash = hash;
	s->last_mask = row;
	return row;
}

// state_letter is __task_state_index of include/linux/sched.h. An idle kernel
// thread that may be frozen is I here, as on newer kernels.
INLINE u8 state_letter(struct task_struct *t)
{
	u32 state = field_exists(t->__state) ? t->__state : (u32)((struct task_struct___old *)t)->state;
	u32 report = (state | t->exit_state) & 0x7f;

	if (state & (0x1000 | 0x8000)) // TASK_RTLOCK_WAIT, TASK_FROZEN
		return 'D';
	if ((state & 0x402) == 0x402) // TASK_IDLE
		return 'I';
	if (report & 0x40)
		return 'P';
	if (report & 0x20)
		return 'Z';
	if (report & 0x10)
		return 'X';
	if (report & 0x08)
		return 't';
	if (report & 0x04)
		return 'T';
	if (report & 0x02)
		return 'D';
	return report ? 'S' : 'R';
}

INLINE s64 positive(s64 n)
{
	return n > 0 ? n : 0;
}

// rss_pages is file, anonymous and shared memory, as field 24 of
// /proc/PID/stat counts it: without the changes that CPUs hold back.
INLINE s64 rss_pages(struct mm_struct *mm, u32 flags)
{
	if (!mm || flags & PF_KTHREAD)
		return 0;
	if (type_exists(struct mm_rss_stat)) {
		struct mm_struct___rss *old = (void *)mm;
		s64 counts[4]; // file, anonymous, swap, shared
		bpf_probe_read_kernel(counts, sizeof(counts), &old->rss_stat);
		return positive(counts[0]) + positive(counts[1]) + positive(counts[3]);
	}
	return positive(mm->rss_stat[0].count) + positive(mm->rss_stat[1].count) + positive(mm->rss_stat[3].count);
}

// The functions below take the task twice: p is for reading pointers from,
// because a pointer read from a trusted one sends the verifier looking through
// all names of the kernel's types (walk.c).

// read_run_queue fills the record of the CPU that a task is on, once a walk.
INLINE void read_run_queue(struct task_struct *p, struct walk_state *s)
{
	if (!field_exists(p->se.cfs_rq))
		return;
	struct rq *rq = p->se.cfs_rq->rq;
	u32 cpu = rq->cpu;
	struct cpu_record *c = bpf_map_lookup_elem(&cpus, &cpu);
	if (!rq || !c || c->pass == s->pass)
		return;

	c->pass = s->pass;
	c->running = rq->nr_running;
	c->load_avg = rq->cfs.avg.load_avg;
	c->clock_ns = rq->clock;
	c->switches = rq->nr_switches;
	c->rt_avg = rq->avg_rt.util_avg;
	c->dl_avg = rq->avg_dl.util_avg;
	if (field_exists(rq->avg_irq))
		c->irq_avg = rq->avg_irq.util_avg;
	s->have |= HAVE_RUN_QUEUES;
}

// queue_load is what a task adds to its run queue's load_avg: its own load by
// the share of it that reaches the top through the groups it is in, as
// task_h_load of kernel/sched/fair.c. The load of a task that sleeps stays in
// the queue and halves every 2^25 ns, but the task's own figure stands still.
INLINE u32 queue_load(struct task_struct *p)
{
	u64 load = p->se.avg.load_avg;

	if (!field_exists(p->se.cfs_rq) || !load || p->prio < MAX_RT_PRIO)
		return 0;
	struct cfs_rq *queue = p->se.cfs_rq;
	s64 late = queue->avg.last_update_time - p->se.avg.last_update_time;
	if (late > 0) {
		if (late >> 25 > 31)
			return 0;
		load >>= late >> 25;
		load -= load * (late & ((1 << 25) - 1)) >> 26;
	}
	struct sched_entity *group = p->se.parent;
	for (int i = 0; i < MAX_GROUPS && group; i++) {
		load = load * group->avg.load_avg / (queue->avg.load_avg + 1);
		queue = group->cfs_rq;
		group = group->parent;
	}
	return load;
}

// read_thread fills what is told of every thread.
INLINE void read_thread(struct thread_record *r, struct task_struct *t, struct task_struct *p, struct walk_state *s)
{
	r->user_ns = t->utime;
	r->system_ns = t->stime;
	r->run_ns = t->se.sum_exec_runtime;
	r->run_delay_ns = 0;
	r->slices = 0;
	if (field_exists(t->sched_info.run_delay)) {
		r->run_delay_ns = t->sched_info.run_delay;
		r->slices = t->sched_info.pcount;
		s->have |= HAVE_RUN_DELAY;
	}
	r->migrations = t->se.nr_migrations;
	r->voluntary = t->nvcsw;
	r->involuntary = t->nivcsw;
	r->minor_faults = t->min_flt;
	r->major_faults = t->maj_flt;
	r->mask = mask_row(t, s);
	r->load = queue_load(p);
	r->policy = t->policy;
	r->rtprio = t->rt_priority;
	r->nice = t->static_prio - 120; // DEFAULT_PRIO
	__builtin_memset(r->pad, 0, sizeof(r->pad));
	read_run_queue(p, s);
}

// read_task fills the rest of a whole record.
INLINE void read_task(struct task_record *r, struct task_struct *t, struct task_struct *p)
{
	r->start_ns = t->start_boottime;
	r->cpu_ns = r->thread.run_ns;
	r->rss_pages = rss_pages(p->mm, t->flags);
	r->ppid = p->real_parent->tgid;
	r->uid = p->cred->euid.val;
	r->flags = t->flags;
	r->threads = p->signal->nr_threads;
	r->cpu = task_cpu(t);
	bpf_probe_read_kernel(r->comm, sizeof(r->comm), t->comm);
	r->priority = t->prio - MAX_RT_PRIO; // as field 18 of /proc/PID/stat
	r->state = state_letter(t);
	r->pad = 0;
}

// add_exited adds what threads left behind in their process when they exited.
INLINE void add_exited(struct task_record *r, struct task_struct *leader)
{
	struct signal_struct *sig = leader->signal;

	if (!sig->sum_sched_runtime) // none exited: most processes, and three cache lines less
		return;
	r->thread.user_ns += sig->utime;
	r->thread.system_ns += sig->stime;
	r->cpu_ns += sig->sum_sched_runtime;
	r->thread.minor_faults += sig->min_flt;
	r->thread.major_faults += sig->maj_flt;
	r->thread.voluntary += sig->nvcsw;
	r->thread.involuntary += sig->nivcsw;
}
