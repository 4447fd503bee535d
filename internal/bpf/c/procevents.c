// SPDX-License-Identifier: MIT OR GPL-2.0
// Reports that a process has begun, has executed a program, has a new name or has
// ended. Only an exec wakes the reader: what else there is can wait for its next look.
#include "kernel.h"

enum { // EventKind in kernel/procevents.go
	FORK = 1,
	EXEC,
	COMM,
	EXIT,
};

enum { BPF_RB_FORCE_WAKEUP = 2 };
enum { PF_KTHREAD = 0x00200000 };

struct event { // procEvent in procevents.go
	u64 ns;       // CLOCK_MONOTONIC
	u64 start_ns; // since boot, suspend included
	u32 pid, kind;
	char comm[16];
};
_Static_assert(sizeof(struct event) == 40, "procEvent in procevents.go");

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	int counter;
} atomic_t;

struct signal_struct___life {
	atomic_t live; // threads that have not ended
};

struct task_struct___life {
	struct task_struct *group_leader;
	struct signal_struct___life *signal;
};

#pragma clang attribute pop

struct { // the loader sets the size
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} events SEC(".maps");

u64 lost; // events that found the ring full, since loading

INLINE void report(struct task_struct *leader, u32 pid, u32 kind, const void *comm, u64 wakeup)
{
	struct event *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);

	if (!e) {
		count(lost, 1);
		return;
	}
	e->ns = bpf_ktime_get_ns();
	e->start_ns = leader->start_boottime;
	e->pid = pid;
	e->kind = kind;
	bpf_probe_read_kernel(e->comm, sizeof(e->comm), comm);
	bpf_ringbuf_submit(e, wakeup);
}

// A thread's fork has the process's number in tgid.
SEC("tp_btf/sched_process_fork")
int event_fork(u64 *ctx)
{
	struct task_struct *child = (void *)ctx[1];

	if (child->pid == child->tgid && !(child->flags & PF_KTHREAD))
		report(child, child->tgid, FORK, child->comm, BPF_RB_NO_WAKEUP);
	return 0;
}

// The thread that executes has become the leader by now (de_thread of fs/exec.c).
SEC("tp_btf/sched_process_exec")
int event_exec(u64 *ctx)
{
	struct task_struct *t = (void *)ctx[0];

	report(t, t->tgid, EXEC, t->comm, BPF_RB_FORCE_WAKEUP);
	return 0;
}

// An exec renames as well, before its own event.
SEC("tp_btf/task_rename")
int event_comm(u64 *ctx)
{
	struct task_struct *t = (void *)ctx[0];

	if (t->pid == t->tgid && !(t->flags & PF_KTHREAD))
		report(t, t->tgid, COMM, (void *)ctx[1], BPF_RB_NO_WAKEUP);
	return 0;
}

// A leader can end before other threads: the process has ended with the last of them,
// which do_exit of kernel/exit.c has taken off the count by now.
SEC("tp_btf/sched_process_exit")
int event_exit(u64 *ctx)
{
	struct task_struct *t = (void *)ctx[0];
	struct task_struct___life *life = (void *)ctx[0];

	if (!life->signal->live.counter && !(t->flags & PF_KTHREAD))
		report(life->group_leader, t->tgid, EXIT, t->comm, BPF_RB_NO_WAKEUP);
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
