// SPDX-License-Identifier: MIT OR GPL-2.0
// Who had each CPU, and for how long: tasks, interrupts, softirqs. A task's time
// is without the interrupts that came meanwhile, and a softirq's without the
// interrupts in it, so the sum over a CPU is the time that passed.
#include "kernel.h"

enum kind { TASK, IRQ, SOFTIRQ }; // Kind in ledger.go

struct stay_key { // stayKey in ledger.go
	u32 id; // tid (0 is idle), interrupt or softirq number
	u16 cpu, kind;
};

struct stay { // stayValue in ledger.go
	u64 ns, wait_ns, longest_ns;
	u32 count, tgid;
	char comm[16];
};
_Static_assert(sizeof(struct stay) == 48, "stayValue in ledger.go");

struct stays { // preallocated: the run queue's lock is held here
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__uint(key_size, sizeof(struct stay_key));
	__uint(value_size, sizeof(struct stay));
};

struct { // the table that is written to; draining exchanges it
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, u32);
	__array(values, struct stays);
} tables SEC(".maps");

struct cpu_now { // cpuNow in ledger_now.go; times of CLOCK_MONOTONIC
	u64 from_ns;                // up to when the CPU's time is accounted
	u64 since_ns;               // when the present task came
	u64 delay_ns;               // its run delay before that
	u64 interrupts_ns, intr_at; // all interrupts and softirqs so far; and at from_ns
	u64 irq_since, irqs_ns;     // when the present interrupt came; all of them so far
	u64 softirq_since, softirq_irqs;
	u32 tid, tgid;
	u32 known, pad; // whether tid, since_ns and delay_ns were seen by a switch
	u64 part_ns, part_longest; // out of settle: of the stay that goes on
	u32 part_tid, part_tgid;
};
_Static_assert(sizeof(struct cpu_now) == 112, "cpuNow in ledger_now.go");

struct { // by CPU; the loader sets the number of entries
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct cpu_now);
} cpus SEC(".maps");

u64 lost, lost_ns; // stays that had no room in the table

INLINE struct cpu_now *here(u32 *cpu)
{
	*cpu = bpf_get_smp_processor_id();
	return bpf_map_lookup_elem(&cpus, cpu);
}

// account adds a stay that has ended. Only its own CPU writes an entry.
INLINE void account(struct stay_key *key, u64 ns, u64 wait_ns, u64 length_ns, struct task_struct *t)
{
	u32 zero = 0;
	void *table = bpf_map_lookup_elem(&tables, &zero);
	if (!table)
		return;
	struct stay *s = bpf_map_lookup_elem(table, key);
	if (s) {
		s->ns += ns;
		s->wait_ns += wait_ns;
		if (length_ns > s->longest_ns)
			s->longest_ns = length_ns;
		s->count++;
		return;
	}
	struct stay first = { .ns = ns, .wait_ns = wait_ns, .longest_ns = length_ns, .count = 1 };
	if (t) {
		first.tgid = t->tgid;
		bpf_probe_read_kernel(first.comm, sizeof(first.comm), t->comm);
	}
	if (bpf_map_update_elem(table, key, &first, BPF_NOEXIST)) {
		count(lost, 1);
		count(lost_ns, ns);
	}
}

INLINE u64 run_delay(struct task_struct *t)
{
	return field_exists(t->sched_info.run_delay) ? t->sched_info.run_delay : 0;
}

// At this point next's run delay does not contain its present wait yet: it is
// added when it arrives, just after. from_ns is exchanged because settle may
// account up to now at the same time.
SEC("tp_btf/sched_switch")
int on_switch(u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	u64 now = bpf_ktime_get_ns();
	u32 cpu;
	struct cpu_now *c = here(&cpu);

	if (!c)
		return 0;
	struct stay_key key = { prev->pid, cpu, TASK };
	u64 from = __sync_lock_test_and_set(&c->from_ns, now);
	u64 interrupted = c->interrupts_ns - c->intr_at;
	u64 ns = now > from + interrupted ? now - from - interrupted : 0;
	// Where a switch was not reported, prev's run delay on arrival is not known.
	u64 wait = c->known && c->tid == key.id && key.id ? run_delay(prev) - c->delay_ns : 0;
	account(&key, ns, wait, now - c->since_ns, prev);
	c->intr_at = c->interrupts_ns;
	c->since_ns = now;
	c->delay_ns = run_delay(next);
	c->tid = next->pid;
	c->tgid = next->tgid;
	c->known = 1;
	return 0;
}

SEC("tp_btf/irq_handler_entry")
int on_irq(void *ctx)
{
	u32 cpu;
	struct cpu_now *c = here(&cpu);
	if (c)
		c->irq_since = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int on_irq_done(u64 *ctx)
{
	u32 cpu;
	struct cpu_now *c = here(&cpu);
	if (!c || !c->irq_since)
		return 0;
	struct stay_key key = { (int)ctx[0], cpu, IRQ };
	u64 ns = bpf_ktime_get_ns() - c->irq_since;
	c->irq_since = 0;
	c->irqs_ns += ns;
	c->interrupts_ns += ns;
	account(&key, ns, 0, ns, NULL);
	return 0;
}

SEC("tp_btf/softirq_entry")
int on_softirq(void *ctx)
{
	u32 cpu;
	struct cpu_now *c = here(&cpu);
	if (c) {
		c->softirq_irqs = c->irqs_ns;
		c->softirq_since = bpf_ktime_get_ns();
	}
	return 0;
}

SEC("tp_btf/softirq_exit")
int on_softirq_done(u64 *ctx)
{
	u32 cpu;
	struct cpu_now *c = here(&cpu);
	if (!c || !c->softirq_since)
		return 0;
	struct stay_key key = { (u32)ctx[0], cpu, SOFTIRQ };
	u64 ns = bpf_ktime_get_ns() - c->softirq_since, irqs = c->irqs_ns - c->softirq_irqs;
	c->softirq_since = 0;
	ns = ns > irqs ? ns - irqs : 0;
	c->interrupts_ns += ns;
	account(&key, ns, 0, ns, NULL);
	return 0;
}

struct bpf_iter__task {
	struct task_struct *task;
} __attribute__((preserve_access_index));

INLINE bool on_cpu(struct task_struct *t)
{
	if (field_bytes(t->on_cpu) == 1)
		return ((struct task_struct___byte *)t)->on_cpu;
	return t->on_cpu;
}

// seed finds out who is on each CPU when counting begins: a task that never
// leaves would not be seen else.
SEC("iter/task")
int seed(struct bpf_iter__task *ctx)
{
	struct task_struct *t = ctx->task;
	if (!t || !on_cpu(t))
		return 0;
	u32 cpu = task_cpu(t);
	struct cpu_now *c = bpf_map_lookup_elem(&cpus, &cpu);
	if (!c || c->known)
		return 0;
	c->tid = t->pid;
	c->tgid = t->tgid;
	return 0;
}

// settle_one accounts the stay that goes on up to now, and leaves it in part_*
// because the table's entries are written by their own CPU alone. A switch at
// the same moment wins, and accounts all of the stay.
static long settle_one(void *map, const u32 *cpu, struct cpu_now *c, u64 *now)
{
	u64 from = c->from_ns, interrupts = c->interrupts_ns, interrupted = interrupts - c->intr_at;
	u64 since = c->since_ns;
	u32 tid = c->tid, tgid = c->tgid;

	c->part_ns = 0;
	c->part_longest = 0;
	if (from >= *now || __sync_val_compare_and_swap(&c->from_ns, from, *now) != from)
		return 0;
	c->intr_at = interrupts;
	c->part_ns = *now > from + interrupted ? *now - from - interrupted : 0;
	c->part_longest = *now - since;
	c->part_tid = tid;
	c->part_tgid = tgid;
	return 0;
}

SEC("syscall")
int settle(u64 *now) // CLOCK_MONOTONIC
{
	u64 until = *now;
	bpf_for_each_map_elem(&cpus, settle_one, &until, 0);
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
