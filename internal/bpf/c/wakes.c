// SPDX-License-Identifier: MIT OR GPL-2.0
// Counts wakeups by (waker, wakee). In an interrupt the current task is not the
// waker: such wakeups have waker 0. The idle task wakes nobody itself.
#include "kernel.h"

enum { NET_RX_SOFTIRQ = 3 }; // include/linux/interrupt.h

struct wake_key { // wakeKey in wakes.go
	u32 waker, wakee; // tids; waker 0 is an interrupt
};

struct wake { // wakeValue in wakes.go
	u64 count;
	u32 waker_tgid, wakee_tgid;
	u16 waker_cpu, wakee_cpu; // at the last wakeup; the wakee's is where it last ran
	u32 pad;
	char waker_comm[16], wakee_comm[16]; // at the first one
};
_Static_assert(sizeof(struct wake) == 56, "wakeValue in wakes.go");

struct wakes { // preallocated: the wakee's pi_lock is held here
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__uint(key_size, sizeof(struct wake_key));
	__uint(value_size, sizeof(struct wake));
};

struct { // the table that is counted into; draining exchanges it
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, u32);
	__array(values, struct wakes);
} tables SEC(".maps");

struct { // ids of threads and of processes; room for the old and the new ones at once
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, u32);
	__type(value, u8);
} targets SEC(".maps");

struct cpu_now { // tids of the tasks that are interrupted, 0 = none; a cache line
	u32 irq, timer, softirq;
	u32 sent; // of the task that raised NET_RX outside interrupts
	u32 pad[12];
};

struct { // by CPU; the loader sets the number of entries
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct cpu_now);
} cpus SEC(".maps");

u64 lost;     // wakeups that had no room in the table, since loading
u32 filtered; // only wakeups by and of targets
u32 only;     // the one target, 0 if there are more

INLINE bool target(u32 tid, u32 tgid)
{
	if (only)
		return tid == only || tgid == only;
	return bpf_map_lookup_elem(&targets, &tgid) || (tid != tgid && bpf_map_lookup_elem(&targets, &tid));
}

INLINE struct cpu_now *here(u32 *cpu)
{
	*cpu = bpf_get_smp_processor_id();
	return bpf_map_lookup_elem(&cpus, cpu);
}

INLINE bool interrupted(struct cpu_now *c, u32 tid)
{
	return !tid || c->irq == tid || c->timer == tid || c->softirq == tid;
}

SEC("tp_btf/sched_waking")
int count_wake(u64 *ctx)
{
	struct task_struct *t = (void *)ctx[0];
	u64 now = bpf_get_current_pid_tgid();
	u32 cpu, zero = 0, tgid = now >> 32, wakee_tgid = t->tgid;
	struct wake_key key = { now, t->pid };
	struct cpu_now *c = here(&cpu);

	if (!c)
		return 0;
	if (interrupted(c, key.waker))
		key.waker = tgid = 0;
	else if (key.waker == key.wakee) // it did not sleep yet
		return 0;
	if (filtered && !target(key.wakee, wakee_tgid) && !(key.waker && target(key.waker, tgid)))
		return 0;
	void *table = bpf_map_lookup_elem(&tables, &zero);
	if (!table)
		return 0;
	struct wake *w = bpf_map_lookup_elem(table, &key);
	if (!w) {
		struct wake first = { .waker_tgid = tgid, .wakee_tgid = wakee_tgid };
		if (key.waker)
			bpf_get_current_comm(first.waker_comm, sizeof(first.waker_comm));
		bpf_probe_read_kernel(first.wakee_comm, sizeof(first.wakee_comm), t->comm);
		// Two CPUs may add the key of an interrupt at once.
		bpf_map_update_elem(table, &key, &first, BPF_NOEXIST);
		w = bpf_map_lookup_elem(table, &key);
		if (!w) {
			count(lost, 1);
			return 0;
		}
	}
	count(w->count, 1);
	w->waker_cpu = cpu;
	w->wakee_cpu = task_cpu(t);
	return 0;
}

SEC("tp_btf/irq_handler_entry")
int wakes_irq(void *ctx)
{
	u32 cpu;
	struct cpu_now *c = here(&cpu);
	if (c)
		c->irq = bpf_get_current_pid_tgid();
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int wakes_irq_done(void *ctx)
{
	u32 cpu;
	struct cpu_now *c = here(&cpu);
	if (c)
		c->irq = 0;
	return 0;
}

// The local timer is no device: it has no irq_handler_entry.
SEC("tp_btf/hrtimer_expire_entry")
int wakes_timer(void *ctx)
{
	u32 cpu;
	struct cpu_now *c = here(&cpu);
	if (c)
		c->timer = bpf_get_current_pid_tgid();
	return 0;
}

SEC("tp_btf/hrtimer_expire_exit")
int wakes_tmr_done(void *ctx)
{
	u32 cpu;
	struct cpu_now *c = here(&cpu);
	if (c)
		c->timer = 0;
	return 0;
}

SEC("tp_btf/softirq_raise")
int wakes_raise(u64 *ctx)
{
	u32 cpu, tid = bpf_get_current_pid_tgid();
	struct cpu_now *c = here(&cpu);
	if (c && (u32)ctx[0] == NET_RX_SOFTIRQ)
		c->sent = interrupted(c, tid) ? 0 : tid;
	return 0;
}

// What a task sends to this machine itself is received in a softirq that runs in
// its own system call (__local_bh_enable_ip, kernel/softirq.c): the sender is
// then the waker.
SEC("tp_btf/softirq_entry")
int wakes_softirq(u64 *ctx)
{
	u32 cpu, tid = bpf_get_current_pid_tgid();
	struct cpu_now *c = here(&cpu);
	if (!c)
		return 0;
	if ((u32)ctx[0] != NET_RX_SOFTIRQ) {
		c->softirq = tid;
		return 0;
	}
	c->softirq = c->sent == tid ? 0 : tid;
	c->sent = 0;
	return 0;
}

SEC("tp_btf/softirq_exit")
int wakes_soft_done(void *ctx)
{
	u32 cpu;
	struct cpu_now *c = here(&cpu);
	if (c)
		c->softirq = 0;
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
