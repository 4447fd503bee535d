// SPDX-License-Identifier: MIT OR GPL-2.0
// A scheduler of the sched_ext class (Linux 6.12,
// Documentation/scheduler/sched-ext.rst) that lets threads of one address space
// run one after another: temporal aggregation. Only tasks of policy SCHED_EXT
// are under it.
//
// Tasks wait in one queue for each address space, first come first served. A
// CPU goes on with the address space that it ran last, until somebody has waited
// for half the bound: then whoever has waited longest goes first.
//
// The queues are maps of this program, not dispatch queues of the kernel:
// Debian's Linux 7.2 has no usable type for the functions that make and look
// into those, nor for those that find and kick idle CPUs.
#include "kernel.h"

enum {
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_QUEUE = 22,
};

static long (*bpf_map_push_elem)(void *map, const void *value, u64 flags) = (void *)87;
static long (*bpf_map_pop_elem)(void *map, void *value) = (void *)88;
static long (*bpf_map_peek_elem)(void *map, void *value) = (void *)89;
static long (*bpf_probe_read_kernel_str)(void *dst, u32 size, const void *src) = (void *)115;
static long (*bpf_loop)(u32 times, void *each, void *ctx, u64 flags) = (void *)181;

// kernel/sched/ext_internal.h; LOCAL_ON is or-ed with a CPU's number.
#define SCX_DSQ_GLOBAL ((1ULL << 63) | 1)
#define SCX_DSQ_LOCAL ((1ULL << 63) | 2)
#define SCX_DSQ_LOCAL_ON ((1ULL << 63) | (1ULL << 62))
enum { SCX_OPS_SWITCH_PARTIAL = 1 << 3 };

#define __weak __attribute__((weak))
extern s32 scx_bpf_select_cpu_dfl(struct task_struct *p, s32 prev_cpu, u64 wake_flags, bool *idle) __ksym;
extern void scx_bpf_dsq_insert(struct task_struct *p, u64 queue, u64 slice, u64 enq_flags) __ksym __weak; // Linux 6.13
extern void scx_bpf_dispatch(struct task_struct *p, u64 queue, u64 slice, u64 enq_flags) __ksym __weak;   // before it
extern struct task_struct *bpf_task_from_pid(s32 pid) __ksym;
extern void bpf_task_release(struct task_struct *p) __ksym;
extern bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask *set) __ksym;
extern u32 bpf_cpumask_first(const struct cpumask *set) __ksym;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct task_struct___ext {
	int nr_cpus_allowed;
	const struct cpumask *cpus_ptr;
};

enum scx_exit_kind { SCX_EXIT_UNREG = 64 };

struct scx_exit_info {
	enum scx_exit_kind kind;
	const char *reason;
};

#pragma clang attribute pop

enum {
	QUEUES = 64, // more address spaces and affinities than that share them
	NO_QUEUE = QUEUES,
	SHORTEST_NS = 250 * 1000,
	LONGEST_NS = 5 * 1000 * 1000,
};

const volatile u64 bound_ns = 50 * 1000 * 1000; // set by the loader

u64 waiting;  // bit q: queue q may hold tasks
u64 queued;   // tasks in all queues
u32 assigned; // queues given away so far
u32 exit_kind; // enum scx_exit_kind; 0 while in force
char exit_reason[64];

struct waiter {
	u64 since; // CLOCK_MONOTONIC, ns
	u32 pid, unused;
};

struct queue {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 4096);
	__uint(value_size, sizeof(struct waiter));
};

struct { // filled by the loader
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, QUEUES);
	__type(key, u32);
	__array(values, struct queue);
} queues SEC(".maps");

struct space { // an address space, and where its tasks may run
	u64 mm;
	u32 first, cpus; // the first CPU of their affinity, and how many there are
};

struct { // the queue of each; one that falls out of it gets another
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, struct space);
	__type(value, u32);
} spaces SEC(".maps");

// When a task, by its PID, began to wait for its turn, CLOCK_MONOTONIC; 0 once it has
// it. Task storage would do, but Linux 7.2 gives none to callbacks that hold
// the run queue's lock.
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, u32);
	__type(value, u64);
} since SEC(".maps");

struct cpu_state { // cpuState in aggregate.go
	u64 mm, queue;     // address space that ran last, and its queue
	u64 turns, spaces; // tasks that began to run; those after another address space
	u64 late;          // turns given because somebody had waited for half the bound
	u64 longest_ns;    // the longest that a task waited for its turn
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct cpu_state);
} states SEC(".maps");

// KEEP has a value computed here and not again later from a key on the stack:
// Linux 7.2 refuses to read a key that a helper was given ("slot poisoned by
// dead code elimination").
#define KEEP(value) asm volatile("" : "+r"(value))

INLINE struct cpu_state *my_state(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&states, &zero);
}

#define affinity(p) (((struct task_struct___ext *)(p))->cpus_ptr)

// queue_of returns the queue of a task.
INLINE u32 queue_of(struct task_struct *p)
{
	struct space key = {
		(u64)p->mm, bpf_cpumask_first(affinity(p)), ((struct task_struct___ext *)p)->nr_cpus_allowed,
	};
	u32 *known = bpf_map_lookup_elem(&spaces, &key);

	if (known)
		return *known % QUEUES;
	u32 queue = __sync_fetch_and_add(&assigned, 1) % QUEUES;
	bpf_map_update_elem(&spaces, &key, &queue, BPF_ANY);
	return queue;
}

// slice lets all that wait have their turn within the other half of the bound,
// on one CPU, as far as the timer's tick, which ends slices, is fine enough.
INLINE u64 slice(void)
{
	u64 ns = bound_ns / 2 / (queued + 1);

	return ns < SHORTEST_NS ? SHORTEST_NS : ns > LONGEST_NS ? LONGEST_NS : ns;
}

INLINE void insert(struct task_struct *p, u64 queue, u64 flags)
{
	if (scx_bpf_dsq_insert)
		scx_bpf_dsq_insert(p, queue, slice(), flags);
	else
		scx_bpf_dispatch(p, queue, slice(), flags);
}

// wait_begins is noted before a task can be taken, or its turn could come first and
// the note be taken for the one of its next wait.
INLINE void wait_begins(struct task_struct *p, u64 now)
{
	u32 pid = p->pid;

	bpf_map_update_elem(&since, &pid, &now, BPF_ANY);
}

SEC("struct_ops/select_cpu")
s32 agg_select_cpu(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	bool idle = 0;
	s32 cpu = scx_bpf_select_cpu_dfl(p, (s32)ctx[1], ctx[2], &idle);

	if (idle) { // nobody waits there
		wait_begins(p, bpf_ktime_get_ns());
		insert(p, SCX_DSQ_LOCAL, 0);
	}
	return cpu;
}

// An idle CPU is woken by the kernel if a task is enqueued on it, whichever
// queue the task is put into.
SEC("struct_ops/enqueue")
int agg_enqueue(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct waiter w = { bpf_ktime_get_ns(), p->pid };
	u32 queue = queue_of(p);
	u64 bit = 1ULL << queue;
	KEEP(bit);
	wait_begins(p, w.since);
	void *q = bpf_map_lookup_elem(&queues, &queue);

	if (!q || bpf_map_push_elem(q, &w, 0)) { // it is full
		insert(p, SCX_DSQ_GLOBAL, ctx[1]);
		return 0;
	}
	count(queued, 1);
	__sync_fetch_and_or(&waiting, bit);
	return 0;
}

// take gives this CPU the first task of a queue. A task that may not run here
// is given to the CPU where it was, and a CPU that gets nothing asks again.
INLINE bool take(u32 queue, u32 cpu)
{
	u64 bit = 1ULL << queue;
	KEEP(bit);
	void *q = bpf_map_lookup_elem(&queues, &queue);
	struct waiter w;

	if (!q)
		return 0;
	if (bpf_map_pop_elem(q, &w)) {
		__sync_fetch_and_and(&waiting, ~bit);
		if (!bpf_map_peek_elem(q, &w)) // one came meanwhile
			__sync_fetch_and_or(&waiting, bit);
		return 0;
	}
	count(queued, -1);
	struct task_struct *p = bpf_task_from_pid(w.pid);
	if (!p)
		return 0;
	u64 to = SCX_DSQ_LOCAL;
	if (!bpf_cpumask_test_cpu(cpu, affinity(p)))
		to = SCX_DSQ_LOCAL_ON | task_cpu(p);
	insert(p, to, 0);
	bpf_task_release(p);
	return 1;
}

// for_here reports whether a task is this CPU's to take. One that is in another
// queue by now has left an entry behind, which anybody may take.
INLINE bool for_here(u32 pid, u32 queue, u32 cpu)
{
	struct task_struct *p = bpf_task_from_pid(pid);

	if (!p)
		return 1;
	bool here = bpf_cpumask_test_cpu(cpu, affinity(p)) || queue_of(p) != queue;
	bpf_task_release(p);
	return here;
}

struct search {
	u64 began; // when the first task of the queue found became runnable
	u32 cpu, found;
};

// look is called for each queue: the one is found, of those that the CPU may take
// from, whose first task has waited longest.
static long look(u32 i, struct search *s)
{
	u32 queue = i;
	struct waiter w;

	if (!(waiting >> (i % QUEUES) & 1))
		return 0;
	void *q = bpf_map_lookup_elem(&queues, &queue);
	if (!q || bpf_map_peek_elem(q, &w) || w.since >= s->began || !for_here(w.pid, i, s->cpu))
		return 0;
	s->began = w.since;
	s->found = i;
	return 0;
}

SEC("struct_ops/dispatch")
int agg_dispatch(u64 *ctx)
{
	struct cpu_state *s = my_state();
	struct search first = { .began = ~0ULL, .cpu = (u32)ctx[0], .found = NO_QUEUE };
	u64 now = bpf_ktime_get_ns();

	if (!s || !waiting)
		return 0;
	u32 last = s->queue % QUEUES;
	if (waiting == 1ULL << last && take(last, first.cpu))
		return 0;
	bpf_loop(QUEUES, look, &first, 0);
	if (first.found >= QUEUES)
		return 0;
	if (now > first.began && now - first.began >= bound_ns / 2) {
		if (first.found != last)
			s->late++;
	} else if (waiting >> last & 1 && take(last, first.cpu)) {
		return 0;
	}
	take(first.found, first.cpu);
	return 0;
}

SEC("struct_ops/running")
int agg_running(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct cpu_state *s = my_state();
	u32 pid = p->pid;
	u64 *at = bpf_map_lookup_elem(&since, &pid);

	if (!s)
		return 0;
	if (at && *at) {
		u64 waited = bpf_ktime_get_ns() - *at;
		if (waited > s->longest_ns)
			s->longest_ns = waited;
		*at = 0;
	}
	s->turns++;
	u64 mm = (u64)p->mm;
	if (mm != s->mm) {
		s->spaces++;
		s->mm = mm;
	}
	s->queue = queue_of(p);
	return 0;
}

SEC("struct_ops/exit")
int agg_exit(u64 *ctx)
{
	struct scx_exit_info *info = (void *)ctx[0];

	bpf_probe_read_kernel_str(exit_reason, sizeof(exit_reason), info->reason);
	exit_kind = info->kind;
	return 0;
}

struct sched_ext_ops { // the members that are set; the loader finds them by name
	void *select_cpu, *enqueue, *dispatch, *running, *exit;
	u64 flags;
	u32 timeout_ms; // a runnable task that has not run for so long ends the scheduler
	char name[128];
};

SEC(".struct_ops.link")
struct sched_ext_ops piton_aggregate = {
	.select_cpu = agg_select_cpu,
	.enqueue = agg_enqueue,
	.dispatch = agg_dispatch,
	.running = agg_running,
	.exit = agg_exit,
	.flags = SCX_OPS_SWITCH_PARTIAL,
	.timeout_ms = 5000,
	.name = "piton_aggregate",
};

char LICENSE[] SEC("license") = "Dual MIT/GPL";
