// SPDX-License-Identifier: MIT OR GPL-2.0
// What waits.c keeps, and what it reads of the kernel: tasks' control groups, limits, and who has
// a CPU.
#pragma once
#include "cgroup.h"

enum { // sizes; also in layout.go
	STAYS = 2048,
	PARTS = 16,
	BINS = 96,
	LIMITS = 4,
	SLOTS = 256,   // of targets
	KEPT = 4,
	WORDS = 16, // of 64 CPUs; idle ones above are not named
};
enum { LEVELS = 12, NESTED = 16 }; // of control groups that are looked at
enum { PF_KTHREAD = 0x00200000 };
enum { BPF_MAP_TYPE_TASK_STORAGE = 29, BPF_LOCAL_STORAGE_GET_F_CREATE = 1 };
enum { SCHED_FIFO = 1, SCHED_RR = 2, SCHED_DEADLINE = 6 };
enum cause { UNKNOWN, SELF, NEIGHBOUR, REALTIME, KERNEL, HOST, LIMIT, WAKING, CAUSES, IRQ = CAUSES, SOFTIRQ }; // why.Cause; the last two are of KERNEL
enum { false, true };
enum occupant { UNSEEN, IDLE, USER, KTHREAD };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct task_group {
	struct cgroup_subsys_state css;
};

struct rq___waits {
	u64 clock, clock_pelt; // ns
	unsigned long lost_idle_time;
	int online;
	u64 prev_steal_time_rq; // CONFIG_PARAVIRT_TIME_ACCOUNTING
};

struct cfs_rq___waits {
	struct rq___waits *rq;
	struct task_group *tg;
	int runtime_enabled; // it has a limit of its own; CONFIG_CFS_BANDWIDTH
	int throttle_count;
	u64 throttled_clock_pelt, throttled_clock_pelt_time; // Linux 5.19
	u64 throttled_clock_self, throttled_clock_self_time; // Linux 6.6
};

struct sched_entity___waits {
	u64 sum_exec_runtime;
	struct cfs_rq___waits *cfs_rq;
	struct sched_entity___waits *parent;
};

struct sched_info___waits {
	unsigned long long run_delay, last_queued; // ns; last_queued is 0 while the task is not queued
};

struct task_struct___waits {
	struct sched_entity___waits se;
	struct sched_info___waits sched_info;
	struct css_set *cgroups;
	bool throttled; // Linux 6.18: it was taken off the queue for a limit
	void *bpf_storage; // of all programs
};

struct cpuset___pointer {
	struct cpumask *effective_cpus; // CONFIG_CPUMASK_OFFSTACK
};

struct cpuset___array {
	struct cpumask effective_cpus[1];
};

#pragma clang attribute pop

#define ours(t) ((struct task_struct___waits *)(t))

struct key { // rowKey in layout.go
	u64 group; // of the task, or whose limit it was
	u32 id;    // process, or number of the interrupt
	u8 cause, policy, priority, slot; // the latter in the table only
};
_Static_assert(sizeof(struct key) == 16, "rowKey in layout.go");

struct name {
	u64 comm[2];
};

struct part { // waitPart in layout.go; of one wait
	struct key key;
	u64 ns, told; // and how much of it is in the table already
	struct name name;
};

struct row { // rowValue in layout.go
	u64 ns, longest;
	struct name name;
	u32 bins[BINS];
};

struct rows { // preallocated: the run queue's lock is held here
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2048);
	__uint(key_size, sizeof(struct key));
	__uint(value_size, sizeof(struct row));
};

struct { // the table that is added to; reading exchanges it
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, u32);
	__array(values, struct rows);
} tables SEC(".maps");

struct stay { // of one task on a CPU; it ends when the next begins
	u64 start, group;
	struct name name;
	u32 tid, tgid;
	u32 irq_ns, softirq_ns, steal_ns;
	u16 irq; // the longest one
	u8 softirq, occupant, policy, priority;
	u8 told; // that it was not seen
	u8 pad[5];
};
_Static_assert(sizeof(struct stay) == 64, "a cache line");

struct limits { // of the groups that a task is in
	u64 leaf;                     // for how long its queue was throttled, by whomever, ns
	u64 clock[LIMITS], group[LIMITS]; // the same at each level that has a limit, the innermost first
	u32 n, pad;
};

struct kept { // waits of one part, one bin and one kind, that are not told yet
	struct part part; // ns is their sum
	u64 longest;
	u32 waits, bin, preempted, pad;
};

struct watch { // what is known of a watched task; the scheduler orders who writes
	u64 delay;  // its run delay, as far as it is accounted
	u64 ran;    // its sum_exec_runtime, as far as it is accounted
	u64 waited; // of the wait that goes on, before it was moved
	u64 rest[CAUSES]; // parts of it for which there was no room
	struct part parts[PARTS];
	struct limits begun, fresh;
	u64 limit_group; // whose limit it was
	u32 used, held, ended; // held: the walk accounts the wait that goes on, which ended meanwhile
	u8 known, preempted;
	u8 limited; // begun is that of the wait that goes on
	u8 walled;  // some group above it has a limit
	u8 slot, follow; // as in struct aim
	u8 pad[6];
	struct kept kept[KEPT]; // by bin
};

struct longest { // longestWait in layout.go
	u64 ns, end;
	u32 busy, tid, cpu, used;
	u64 rest[CAUSES];
	struct part parts[PARTS];
};

enum excluded { MISSED, BY_MASK, BY_CPUSET, EXCLUDED }; // why a task did not run on an idle CPU

struct span { // spanTotals in layout.go; of one window, zeroed by the reader
	u64 idle[WORDS]; // CPUs that were idle and excluded
	u32 threads, pad; // at its end
	struct longest longest;
};

struct totals { // slotTotals in layout.go; of a slot, since loading. All CPUs add.
	u64 ran, avoidable[EXCLUDED];
	u64 lost;            // stays that were not seen and somebody waited, parts and tasks for which there was no room
	u64 unlisted[CAUSES]; // such parts, ns
	u32 bins[2][BINS];   // woken, preempted
	u32 live, pad;       // a target has the slot
	struct span spans[2]; // even and odd windows
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SLOTS);
	__type(key, u32);
	__type(value, struct totals);
} totals SEC(".maps");

struct cpu { // cpuHead in layout.go up to the ring; only its own CPU writes
	u64 cost;
	u64 idle_since, idle_from, idle_to; // idle now (0: not), and the time before that
	u64 rq; // address of its run queue
	u64 offset; // CLOCK_MONOTONIC less the run queue's clock
	u64 irq_since, irqs_ns, softirq_since, softirq_irqs, steal;
	u32 irq_longest, softirq_longest; // of the present stay, ns
	u32 head, uncosted; // runs until one is timed
	struct stay ring[STAYS];
};

struct { // by CPU; the loader sets the number of entries
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct cpu);
} cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct watch);
} watched SEC(".maps");

struct target { // targetID in layout.go
	u64 id;
	u64 kind;
};
enum { THREAD, PROCESS, GROUP };

struct aim { // targetAim in layout.go
	u8 slot, follow; // children are of the target, too
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, struct target);
	__type(value, struct aim);
} targets SEC(".maps");

struct { // a row of zeros: it is too large for the stack
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct row);
} blank SEC(".maps");

u32 ending;      // waits that go on are accounted as if they ended
u32 window;      // number of the present one
u32 groups;      // some targets are control groups
u32 cpu_count;
u32 unified;     // control groups are those of version 2
u32 have_limits; // some watched task is in a group that has a limit

static long (*bpf_loop)(u32 steps, void *step, void *ctx, u64 flags) = (void *)181;
static void *(*bpf_task_storage_get)(void *map, struct task_struct *t, void *value, u64 flags) = (void *)156;
static long (*bpf_task_storage_delete)(void *map, struct task_struct *t) = (void *)157;

INLINE struct cpu *of_cpu(u32 cpu)
{
	return bpf_map_lookup_elem(&cpus, &cpu);
}

INLINE struct totals *of_slot(u32 slot)
{
	return bpf_map_lookup_elem(&totals, &slot);
}

// watch_of is what is known of a task, NULL if it is not watched.
INLINE struct watch *watch_of(struct task_struct *t)
{
	return ours(t)->bpf_storage ? bpf_task_storage_get(&watched, t, NULL, 0) : NULL; // the call takes 10 ns
}

// Functions that are not static are read once by the verifier, not at each call and in each state.
// They take numbers, and pointers to memory, which it does not know to be there.
#define ONCE __attribute__((noinline))

// bin is why.Bin.
ONCE u32 bin(u64 ns)
{
	u64 rest = ns >> 10;
	u32 octave = 0;

	if (!rest)
		return 0;
	if (rest >> 32) {
		octave = 32;
		rest >>= 32;
	}
	if (rest >> 16) {
		octave += 16;
		rest >>= 16;
	}
	if (rest >> 8) {
		octave += 8;
		rest >>= 8;
	}
	if (rest >> 4) {
		octave += 4;
		rest >>= 4;
	}
	if (rest >> 2) {
		octave += 2;
		rest >>= 2;
	}
	octave += rest >> 1;
	u32 b = 1 + 4 * octave + ((ns >> (octave + 8)) & 3);
	return b < BINS ? b : BINS - 1;
}

INLINE struct cgroup_subsys_state *css_of(struct css_set *set, u64 controller)
{
	struct cgroup_subsys_state **css = (void *)set + field_offset(set->subsys) + 8 * controller;
	return *css;
}

INLINE struct cgroup *cgroup_of(struct task_struct *t)
{
	struct css_set *set = ours(t)->cgroups;
	return unified ? set->dfl_cgrp : css_of(set, controller(cpu_cgrp_id))->cgroup;
}

INLINE struct rq___waits *queue_of(struct task_struct *t)
{
	return ours(t)->se.cfs_rq->rq;
}

INLINE u64 steal_of(struct rq___waits *rq)
{
	return field_exists(rq->prev_steal_time_rq) ? rq->prev_steal_time_rq : 0;
}

// throttled_clock is for how long a queue's tasks were kept off the CPU by a limit, of its own
// group or of one above, ns.
INLINE u64 throttled_clock(struct cfs_rq___waits *q, u64 now)
{
	if (field_exists(q->throttled_clock_self_time)) {
		u64 since = q->throttled_clock_self;
		return q->throttled_clock_self_time + (since && now > since ? now - since : 0);
	}
	if (!field_exists(q->throttled_clock_pelt_time))
		return 0;
	u64 sum = q->throttled_clock_pelt_time;
	if (q->throttle_count)
		sum += q->rq->clock_pelt - q->rq->lost_idle_time - q->throttled_clock_pelt;
	return sum;
}

// find_limits reads the limits that a task is below; without l it reports only whether there are some.
INLINE bool find_limits(struct task_struct *t, u64 now, struct limits *l)
{
	struct cfs_rq___waits *q = ours(t)->se.cfs_rq;

	if (l)
		l->n = 0;
	if (!field_exists(q->runtime_enabled))
		return false;
	struct sched_entity___waits *parent = ours(t)->se.parent;
	for (int level = 0; level < LEVELS && parent; level++) { // the root group has no limit
		if (q->runtime_enabled) {
			if (!l)
				return true;
			u32 n = l->n;
			if (n >= LIMITS)
				break;
			l->clock[n] = throttled_clock(q, now);
			l->group[n] = q->tg->css.cgroup->kn->id;
			l->n = n + 1;
		}
		q = parent->cfs_rq;
		parent = parent->parent;
	}
	if (!l || !l->n)
		return false;
	l->leaf = throttled_clock(ours(t)->se.cfs_rq, now);
	return true;
}

// read_limits notes where the limits of a task stand.
INLINE void read_limits(struct watch *w, struct task_struct *t, u64 now, struct limits *l)
{
	if (w->walled)
		find_limits(t, now, l);
	else
		l->n = 0;
}

INLINE void copy_comm(struct name *to, struct task_struct *t)
{
	u64 *from = (void *)t + field_offset(t->comm);
	to->comm[0] = from[0];
	to->comm[1] = from[1];
}

// occupy writes down who has the CPU from now on.
INLINE void occupy(struct stay *s, struct task_struct *t)
{
	s->tid = t->pid;
	s->irq_ns = s->softirq_ns = s->steal_ns = 0;
	s->irq = s->softirq = 0;
	if (!s->tid) {
		s->occupant = IDLE;
		return;
	}
	s->tgid = t->tgid;
	s->policy = t->policy;
	s->priority = t->rt_priority;
	s->occupant = t->flags & PF_KTHREAD ? KTHREAD : USER;
	s->group = cgroup_of(t)->kn->id;
	copy_comm(&s->name, t->group_leader);
}
