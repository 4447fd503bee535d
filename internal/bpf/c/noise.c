// SPDX-License-Identifier: MIT OR GPL-2.0
// What interrupts one process on chosen CPUs: tasks, interrupt lines, softirqs, vectors of the
// CPU, NMIs, each as an event with its begin and its length. They may be nested.
#include "kernel.h"

enum kind { TASK, IRQ, SOFTIRQ, VECTOR, NMI, KINDS }; // the kinds in noise.go

struct event { // noiseEvent in noise.go
	u64 start, ns; // CLOCK_MONOTONIC
	u32 cpu, kind, id, flags;
	char comm[16];
};
_Static_assert(sizeof(struct event) == 48, "noiseEvent in noise.go");

struct cpu_noise { // cpuNoise in noise.go
	u64 watched;
	u64 since[KINDS];
};

struct { // by CPU; the loader sets the number of entries
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct cpu_noise);
} cpus SEC(".maps");

struct { // the loader sets the size
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} events SEC(".maps");

u64 lost;          // events that found the ring full, since loading
volatile u32 own; // the process that is interrupted

INLINE struct cpu_noise *here(u32 *cpu)
{
	*cpu = bpf_get_smp_processor_id();
	struct cpu_noise *c = bpf_map_lookup_elem(&cpus, cpu);
	return c && c->watched ? c : NULL;
}

INLINE void report(u64 start, u64 ns, u32 cpu, u32 kind, u32 id, struct task_struct *t)
{
	struct event *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);

	if (!e) {
		count(lost, 1);
		return;
	}
	e->start = start;
	e->ns = ns;
	e->cpu = cpu;
	e->kind = kind;
	e->id = id;
	e->flags = 0;
	e->comm[0] = 0;
	if (t) {
		e->flags = t->flags;
		bpf_probe_read_kernel(e->comm, sizeof(e->comm), t->comm);
	}
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
}

INLINE void enter(u32 kind)
{
	u32 cpu;
	struct cpu_noise *c = here(&cpu);
	if (c)
		c->since[kind] = bpf_ktime_get_ns();
}

INLINE void leave(u32 kind, u32 id, struct task_struct *t)
{
	u32 cpu;
	struct cpu_noise *c = here(&cpu);
	if (!c || !c->since[kind])
		return;
	u64 start = c->since[kind];
	c->since[kind] = 0;
	report(start, bpf_ktime_get_ns() - start, cpu, kind, id, t);
}

SEC("tp_btf/sched_switch")
int noise_switch(u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];

	if (prev->pid && prev->tgid != own)
		leave(TASK, prev->pid, prev);
	if (next->pid && next->tgid != own)
		enter(TASK);
	return 0;
}

SEC("tp_btf/irq_handler_entry")
int noise_irq(void *ctx)
{
	enter(IRQ);
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int noise_irq_done(u64 *ctx)
{
	leave(IRQ, (u32)ctx[0], NULL);
	return 0;
}

SEC("tp_btf/softirq_entry")
int noise_softirq(void *ctx)
{
	enter(SOFTIRQ);
	return 0;
}

SEC("tp_btf/softirq_exit")
int noise_soft_done(u64 *ctx)
{
	leave(SOFTIRQ, (u32)ctx[0], NULL);
	return 0;
}

// The interrupts that CPUs send themselves and each other have a tracepoint each, by architecture:
// the loader hooks both programs to all that there are (arch/x86/include/asm/trace/irq_vectors.h).
SEC("raw_tp")
int noise_vector(void *ctx)
{
	enter(VECTOR);
	return 0;
}

SEC("raw_tp")
int noise_vector_done(u64 *ctx)
{
	leave(VECTOR, (u32)ctx[0], NULL);
	return 0;
}

// Of x86 only, like the vectors.
SEC("raw_tp")
int noise_nmi(u64 *ctx)
{
	u32 cpu;
	u64 ns = ctx[1];

	if (here(&cpu))
		report(bpf_ktime_get_ns() - ns, ns, cpu, NMI, 0, NULL);
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
