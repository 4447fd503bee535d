// SPDX-License-Identifier: MIT OR GPL-2.0
// Splits the time that watched tasks wait for a CPU by what the CPU did meanwhile, on whose
// queue they were. The wait is what the kernel counts itself (sched_info: run_delay, and
// last_queued of a wait that goes on), so that the parts sum to schedstat's field 2. What a CPU
// did is in a ring of its last stays, in time of its run queue's clock, like the wait.
#include "waits_parts.h"

INLINE void learn(struct watch *w, struct task_struct *t, u64 now)
{
	u64 open;
	w->delay = delay_of(t, now, &open);
	w->ran = ours(t)->se.sum_exec_runtime;
	w->known = 1;
}

// add_wait adds to a task's wait what has come of it, up to now on the queue of a CPU; open is the
// kernel's count for this queue.
INLINE void add_wait(struct cpu *c, struct totals *totals, struct watch *w, struct task_struct *t, u64 now, u64 ns, u64 open)
{
	if (ns > open) {
		add_nameless(w, UNKNOWN, NO_INTERRUPT, 0, ns - open);
		w->waited += ns - open;
		ns = open;
	}
	u64 limit = limit_of(w, t, now);
	split(c, w, t->tgid, now, ns);
	if (limit) {
		limit = limit < ns ? limit : ns;
		take_limit(w, cgroup_of(t)->kn->id, limit);
		w->begun = w->fresh;
	}
	find_idle(totals, t, task_cpu(t), now - ns + limit, now); // the limit comes first, as a rule
}

// tell_all adds the parts of a wait that goes on to the table.
ONCE int tell_all(struct watch *w)
{
	for (u32 i = 0; w && i < PARTS && i < w->used; i++)
		tell(&w->parts[i], false);
	return 0;
}

// wait_until accounts the wait of a task since it was last looked at. The kernel's figure is what
// has to come out, so that what the programs missed heals.
INLINE void wait_until(struct cpu *c, struct totals *totals, struct watch *w, struct task_struct *t, u64 now)
{
	u64 open, delay = delay_of(t, now, &open);

	if ((s64)(delay - w->delay) <= 0)
		return;
	bool held = w->held;
	u64 ns = delay - __sync_lock_test_and_set(&w->delay, delay);
	if ((s64)ns <= 0)
		return;
	if (held) { // the walk has all but the last moment
		struct part p = { .ns = ns };
		tell(&p, true);
		return;
	}
	add_wait(c, totals, w, t, now, ns, open ? open : ns); // none: it has left the queue just now
}

INLINE void account_run(struct totals *totals, struct watch *w, struct task_struct *t)
{
	u64 ran = ours(t)->se.sum_exec_runtime;
	totals->ran += ran - __sync_lock_test_and_set(&w->ran, ran);
}

INLINE void leave(struct cpu *c, u32 cpu, struct watch *w, struct task_struct *t, bool runnable, u64 now)
{
	if (!w->known)
		learn(w, t, now);
	account_run(&c->totals, w, t);
	u64 missed = ours(t)->sched_info.run_delay - w->delay; // its arrival was not reported
	if ((s64)missed > 0) {
		w->delay += missed;
		w->waited += missed;
		add_nameless(w, UNKNOWN, NO_INTERRUPT, 0, missed);
		finish(&c->totals, w, t->pid, cpu, now + c->offset);
	}
	w->preempted = runnable;
	read_limits(t, now, &w->begun);
	// From Linux 6.18 on a task is kept off the CPU for itself.
	w->limited = !field_exists(ours(t)->throttled) || ours(t)->throttled;
}

INLINE void arrive(struct cpu *c, u32 cpu, struct watch *w, struct task_struct *t, u64 now)
{
	if (!w->known) {
		learn(w, t, now);
		return;
	}
	wait_until(c, &c->totals, w, t, now);
	if (w->held)
		w->ended = 1;
	else
		finish(&c->totals, w, t->pid, cpu, now + c->offset);
}

// turn writes down that the CPU goes from one task to another.
INLINE void turn(struct cpu *c, struct task_struct *prev, struct task_struct *next, u64 now)
{
	struct rq___waits *rq = queue_of(next);
	u64 steal = steal_of(rq);
	struct stay *s = &c->ring[c->head & (STAYS - 1)];

	if (s->occupant == UNSEEN && !c->head) {
		occupy(s, prev);
	} else if (s->tid != prev->pid) {
		s->occupant = UNSEEN;
		count(lost, 1);
	}
	if (c->steal && steal > c->steal)
		s->steal_ns = steal - c->steal;
	c->steal = steal;
	c->rq = (u64)rq;
	s = &c->ring[(c->head + 1) & (STAYS - 1)];
	s->start = now;
	if (!prev->pid && c->idle_since) {
		c->idle_from = c->idle_since;
		c->idle_to = now;
		c->idle_since = 0;
	}
	if (!next->pid)
		c->idle_since = now;
	c->irq_longest = c->softirq_longest = 0;
	occupy(s, next);
	c->head++;
}

enum { COST_EVERY = 17 };

// sched_switch comes before the kernel accounts the wait of next.
SEC("tp_btf/sched_switch")
int waits_switch(u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	u32 cpu = bpf_get_smp_processor_id();
	u64 now = queue_of(next)->clock, begun = 0;
	struct cpu *c = of_cpu(cpu);

	if (!c)
		return 0;
	if (!(c->runs++ % COST_EVERY)) {
		begun = bpf_ktime_get_ns();
		c->offset = begun - now;
	}
	turn(c, prev, next, now);
	struct watch *w = prev->pid ? bpf_task_storage_get(&watched, prev, NULL, 0) : NULL;
	if (w)
		leave(c, cpu, w, prev, ctx[0] || !ctx[3], now);
	w = next->pid ? bpf_task_storage_get(&watched, next, NULL, 0) : NULL;
	if (w)
		arrive(c, cpu, w, next, now);
	if (begun)
		c->cost += (bpf_ktime_get_ns() - begun) * COST_EVERY;
	return 0;
}

// A task that is moved while it waits has left the queue of the CPU that it comes from, whose
// lock is held.
SEC("tp_btf/sched_migrate_task")
int waits_move(u64 *ctx)
{
	struct task_struct *t = (void *)ctx[0];
	struct watch *w = bpf_task_storage_get(&watched, t, NULL, 0);

	if (!w || !w->known || ours(t)->sched_info.run_delay == w->delay)
		return 0;
	struct cpu *c = of_cpu(task_cpu(t)), *here = of_cpu(bpf_get_smp_processor_id());
	if (!c || !here)
		return 0;
	wait_until(c, &here->totals, w, t, queue_of(t)->clock);
	w->limited = 0;
	return tell_all(w);
}

// The limits of a task that wakes up count from then on. Hooked only where there are limits.
SEC("tp_btf/sched_wakeup")
int waits_wakeup(u64 *ctx)
{
	struct task_struct *t = (void *)ctx[0];
	struct watch *w = bpf_task_storage_get(&watched, t, NULL, 0);

	if (!w)
		return 0;
	read_limits(t, queue_of(t)->clock, &w->begun);
	w->limited = 1;
	return 0;
}

// waits_seed notes who is on the CPU that it runs on: a task that never leaves, and a CPU that
// stays idle, would not be seen else. It is run on each CPU once, in an interrupt.
SEC("raw_tp")
int waits_seed(void *ctx)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct cpu *c = of_cpu(bpf_get_smp_processor_id());

	if (!c || c->head || c->ring[0].occupant != UNSEEN)
		return 0;
	occupy(&c->ring[0], t);
	c->rq = (u64)queue_of(t);
	if (!t->pid)
		c->idle_since = queue_of(t)->clock;
	return 0;
}

SEC("tp_btf/irq_handler_entry")
int waits_irq(void *ctx)
{
	struct cpu *c = of_cpu(bpf_get_smp_processor_id());
	if (c)
		c->irq_since = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int waits_irq_done(u64 *ctx)
{
	struct cpu *c = of_cpu(bpf_get_smp_processor_id());
	if (!c || !c->irq_since)
		return 0;
	struct stay *s = &c->ring[c->head & (STAYS - 1)];
	u64 ns = bpf_ktime_get_ns() - c->irq_since;
	c->irq_since = 0;
	c->irqs_ns += ns;
	s->irq_ns += ns;
	if (ns > c->irq_longest) {
		c->irq_longest = ns;
		s->irq = (int)ctx[0];
	}
	return 0;
}

SEC("tp_btf/softirq_entry")
int waits_softirq(void *ctx)
{
	struct cpu *c = of_cpu(bpf_get_smp_processor_id());
	if (c) {
		c->softirq_irqs = c->irqs_ns;
		c->softirq_since = bpf_ktime_get_ns();
	}
	return 0;
}

SEC("tp_btf/softirq_exit")
int waits_soft_done(u64 *ctx)
{
	struct cpu *c = of_cpu(bpf_get_smp_processor_id());
	if (!c || !c->softirq_since)
		return 0;
	struct stay *s = &c->ring[c->head & (STAYS - 1)];
	u64 ns = bpf_ktime_get_ns() - c->softirq_since, irqs = c->irqs_ns - c->softirq_irqs;
	c->softirq_since = 0;
	ns = ns > irqs ? ns - irqs : 0;
	s->softirq_ns += ns;
	if (ns > c->softirq_longest) {
		c->softirq_longest = ns;
		s->softirq = (u32)ctx[0];
	}
	return 0;
}

INLINE bool is_target(u64 kind, u64 id)
{
	struct target k = { id, kind };
	return bpf_map_lookup_elem(&targets, &k) != NULL;
}

// chosen reports whether a task is to be watched.
static __attribute__((noinline)) bool chosen(struct task_struct *t)
{
	if (is_target(PROCESS, t->tgid) || is_target(THREAD, t->pid))
		return true;
	if (!groups)
		return false;
	struct cgroup *g = cgroup_of(t);
	for (int level = 0; level < NESTED; level++) {
		if (is_target(GROUP, g->kn->id))
			return true;
		struct cgroup_subsys_state *above = g->self.parent;
		if (!above)
			return false;
		g = above->cgroup;
	}
	return false;
}

SEC("tp_btf/sched_process_fork")
int waits_fork(u64 *ctx)
{
	struct task_struct *parent = (void *)ctx[0], *child = (void *)ctx[1];

	if (!chosen(child) && !(follow && bpf_task_storage_get(&watched, parent, NULL, 0)))
		return 0;
	struct watch *w = bpf_task_storage_get(&watched, child, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!w) {
		count(unwatched, 1);
		return 0;
	}
	w->known = 1; // from zero
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

// settle_wait accounts a wait that goes on up to now. A switch at the same moment wins, and
// accounts all of it.
INLINE void settle_wait(struct open_waits *o, struct watch *w, struct task_struct *t, struct cpu *c, u64 now)
{
	u64 run_delay = ours(t)->sched_info.run_delay, since = ours(t)->sched_info.last_queued, open, before = w->delay;
	u64 delay = delay_of(t, now, &open);

	if (!open || on_cpu(t) || run_delay != ours(t)->sched_info.run_delay || since != ours(t)->sched_info.last_queued)
		return;
	__sync_lock_test_and_set(&w->held, 1);
	if ((s64)(delay - before) > 0 && __sync_val_compare_and_swap(&w->delay, before, delay) == before) {
		add_wait(c, &o->totals, w, t, now, delay - before, open);
		tell_all(w);
	}
	__sync_lock_test_and_set(&w->held, 0);
	if (w->ended || ending)
		finish(&o->totals, w, t->pid, task_cpu(t), now + c->offset);
	w->ended = 0;
}

// waits_settle looks at all tasks: it begins to watch those that are chosen, and accounts what
// goes on.
SEC("iter/task")
int waits_settle(struct bpf_iter__task *ctx)
{
	struct task_struct *t = ctx->task;
	u32 zero = 0;
	struct open_waits *o = bpf_map_lookup_elem(&open_waits, &zero);

	if (!t || !o)
		return 0;
	struct cpu *c = of_cpu(task_cpu(t));
	if (!c)
		return 0;
	struct watch *w = bpf_task_storage_get(&watched, t, NULL, 0);
	if (!w && !chosen(t))
		return 0;
	if (w && groups && !follow && !chosen(t)) {
		bpf_task_storage_delete(&watched, t);
		return 0;
	}
	if (!w)
		w = bpf_task_storage_get(&watched, t, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!w) {
		count(unwatched, 1);
		return 0;
	}
	if (o->window != window) {
		o->window = window;
		o->threads = 0;
	}
	o->threads += ending;
	u64 now = queue_of(t)->clock, estimate = bpf_ktime_get_ns() - c->offset;
	if (c->offset && (s64)(estimate - now) > 0) // it stands still between ticks
		now = estimate;
	if (!w->known) {
		learn(w, t, now);
		read_limits(t, now, &w->begun);
		w->limited = 1;
		return 0;
	}
	account_run(&o->totals, w, t);
	settle_wait(o, w, t, c, now);
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
