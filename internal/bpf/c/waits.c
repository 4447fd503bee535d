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
		add_nameless(w, UNKNOWN, 0, ns - open);
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
		tell(&w->parts[i], w->slot, 0, 0);
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
		tell(&p, w->slot, 1, ns);
		return;
	}
	add_wait(c, totals, w, t, now, ns, open ? open : ns); // none: it has left the queue just now
}

INLINE void account_run(struct totals *totals, struct watch *w, struct task_struct *t)
{
	u64 ran = ours(t)->se.sum_exec_runtime;
	u64 before = __sync_lock_test_and_set(&w->ran, ran);
	if (ran != before)
		count(totals->ran, ran - before);
}

INLINE void leave(struct cpu *c, u32 cpu, struct watch *w, struct task_struct *t, bool runnable, bool dead, u64 now)
{
	struct totals *totals = of_slot(w->slot);

	if (!totals)
		return;
	if (!w->known)
		learn(w, t, now);
	if (dead) { // else the walk does it
		account_run(totals, w, t);
		tell_kept(totals, w);
	}
	u64 missed = ours(t)->sched_info.run_delay - w->delay; // its arrival was not reported
	if ((s64)missed > 0) {
		w->delay += missed;
		w->waited += missed;
		add_nameless(w, UNKNOWN, 0, missed);
		count(totals->lost, 1);
		finish(totals, w, t->pid, cpu, now + c->offset);
	}
	w->preempted = runnable;
	read_limits(w, t, now, &w->begun);
	// From Linux 6.18 on a task is kept off the CPU for itself.
	w->limited = !field_exists(ours(t)->throttled) || ours(t)->throttled;
}

INLINE void arrive(struct cpu *c, u32 cpu, struct watch *w, struct task_struct *t, u64 now)
{
	struct totals *totals = of_slot(w->slot);

	if (!totals)
		return;
	if (!w->known) {
		learn(w, t, now);
		return;
	}
	wait_until(c, totals, w, t, now);
	if (w->held)
		w->ended = 1;
	else
		finish(totals, w, t->pid, cpu, now + c->offset);
}

// turn writes down that the CPU goes from one task to another.
INLINE void turn(struct cpu *c, struct rq___waits *rq, struct task_struct *prev, struct task_struct *next, u64 now)
{
	u64 steal = steal_of(rq);
	struct stay *s = &c->ring[c->head & (STAYS - 1)];

	if (s->occupant == UNSEEN && !c->head) {
		occupy(s, prev);
	} else if (s->tid != prev->pid) {
		s->occupant = UNSEEN; // the kernel does not report each switch
		s->told = 0;
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

enum { COST_EVERY = 31 }; // odd, since tasks may alternate
enum { TASK_DEAD = 0x80 };

// sched_switch comes before the kernel accounts the wait of next.
SEC("tp_btf/sched_switch")
int waits_switch(u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	u32 cpu = bpf_get_smp_processor_id();
	struct rq___waits *rq = queue_of(next);
	u64 now = rq->clock, begun = 0;
	struct cpu *c = of_cpu(cpu);

	if (!c)
		return 0;
	if (!c->uncosted--) {
		c->uncosted = COST_EVERY - 1;
		begun = bpf_ktime_get_ns();
		c->offset = begun - now;
	}
	turn(c, rq, prev, next, now);
	struct watch *w = watch_of(prev);
	if (w)
		leave(c, cpu, w, prev, ctx[0] || !ctx[3], ctx[3] & TASK_DEAD, now);
	w = watch_of(next);
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
	struct watch *w = watch_of(t);

	if (!w || !w->known || ours(t)->sched_info.run_delay == w->delay)
		return 0;
	struct cpu *c = of_cpu(task_cpu(t));
	struct totals *totals = of_slot(w->slot);
	if (!c || !totals)
		return 0;
	wait_until(c, totals, w, t, queue_of(t)->clock);
	w->limited = 0;
	return tell_all(w);
}

// The limits of a task that wakes up count from then on. Hooked only where there are limits.
SEC("tp_btf/sched_wakeup")
int waits_wakeup(u64 *ctx)
{
	struct task_struct *t = (void *)ctx[0];
	struct watch *w = watch_of(t);

	if (!w)
		return 0;
	read_limits(w, t, queue_of(t)->clock, &w->begun);
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

enum { NOBODY = -1, BY_GROUP = 1 << 16 }; // with a slot, and whether to follow << 8

INLINE int target_of(u64 kind, u64 id)
{
	struct target k = { id, kind };
	struct aim *a = bpf_map_lookup_elem(&targets, &k);
	return a ? a->slot | a->follow << 8 : NOBODY;
}

// target_of_task is whose task it is: a thread comes before its process, and that before its
// innermost group.
static __attribute__((noinline)) int target_of_task(struct task_struct *t)
{
	int aim = target_of(THREAD, t->pid);
	if (aim == NOBODY)
		aim = target_of(PROCESS, t->tgid);
	if (aim != NOBODY || !groups)
		return aim;
	struct cgroup *g = cgroup_of(t);
	for (int level = 0; level < NESTED; level++) {
		aim = target_of(GROUP, g->kn->id);
		if (aim != NOBODY)
			return aim | BY_GROUP;
		struct cgroup_subsys_state *above = g->self.parent;
		if (!above)
			break;
		g = above->cgroup;
	}
	return NOBODY;
}

INLINE bool live(u32 slot)
{
	struct totals *totals = of_slot(slot);
	return totals && totals->live;
}

// followed is whose task it is, if that of its parent, or its own so far, is followed.
INLINE int followed(int aim, struct watch *w)
{
	if ((aim == NOBODY || aim & BY_GROUP) && w && w->follow && live(w->slot))
		return w->slot | 1 << 8;
	return aim;
}

INLINE void aimed(struct watch *w, int aim)
{
	w->slot = aim;
	w->follow = aim >> 8 & 1;
}

SEC("tp_btf/sched_process_fork")
int waits_fork(u64 *ctx)
{
	struct task_struct *parent = (void *)ctx[0], *child = (void *)ctx[1];
	int aim = followed(target_of_task(child), watch_of(parent));

	if (aim == NOBODY)
		return 0;
	struct watch *w = bpf_task_storage_get(&watched, child, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!w) {
		lose(aim & 0xff);
		return 0;
	}
	aimed(w, aim);
	w->walled = 1; // until the walk looks
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
INLINE void settle_wait(struct totals *totals, struct watch *w, struct task_struct *t, struct cpu *c, u64 now)
{
	u64 run_delay = ours(t)->sched_info.run_delay, since = ours(t)->sched_info.last_queued, open, before = w->delay;
	u64 delay = delay_of(t, now, &open);
	bool goes_on = open && !on_cpu(t) && run_delay == ours(t)->sched_info.run_delay && since == ours(t)->sched_info.last_queued;

	__sync_lock_test_and_set(&w->held, 1);
	if (goes_on && (s64)(delay - before) > 0 && __sync_val_compare_and_swap(&w->delay, before, delay) == before) {
		add_wait(c, totals, w, t, now, delay - before, open);
		tell_all(w);
		tell_kept(totals, w);
	} else if (!ours(t)->sched_info.last_queued) { // no switch has to do with it now
		tell_kept(totals, w);
	}
	__sync_lock_test_and_set(&w->held, 0);
	if (w->ended || (goes_on && ending))
		finish(totals, w, t->pid, task_cpu(t), now + c->offset);
	w->ended = 0;
}

// settle_task accounts what goes on with a watched task.
INLINE void settle_task(struct watch *w, struct task_struct *t)
{
	struct cpu *c = of_cpu(task_cpu(t));
	struct totals *totals = of_slot(w->slot);
	if (!c || !totals)
		return;
	u64 now = queue_of(t)->clock, estimate = bpf_ktime_get_ns() - c->offset;
	if (c->offset && (s64)(estimate - now) > 0) // it stands still between ticks
		now = estimate;
	w->walled = find_limits(t, now, NULL);
	if (w->walled)
		have_limits = 1;
	if (!w->known) {
		learn(w, t, now);
		read_limits(w, t, now, &w->begun);
		w->limited = 1;
		return;
	}
	account_run(totals, w, t);
	settle_wait(totals, w, t, c, now);
}

// waits_settle looks at all tasks: it begins and ends to watch those whose target begins or ends,
// and accounts what goes on.
SEC("iter/task")
int waits_settle(struct bpf_iter__task *ctx)
{
	struct task_struct *t = ctx->task;

	if (!t)
		return 0;
	struct watch *w = watch_of(t);
	int aim = followed(target_of_task(t), w);
	if (aim == NOBODY && !w)
		return 0;
	if (!w) {
		w = bpf_task_storage_get(&watched, t, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
		if (!w) {
			lose(aim & 0xff);
			return 0;
		}
		aimed(w, aim);
	}
	settle_task(w, t);
	if (aim == NOBODY) {
		bpf_task_storage_delete(&watched, t);
		return 0;
	}
	aimed(w, aim);
	struct totals *totals = of_slot(w->slot);
	if (totals)
		totals->spans[window & 1].threads += ending;
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
