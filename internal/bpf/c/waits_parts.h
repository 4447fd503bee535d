// SPDX-License-Identifier: MIT OR GPL-2.0
// The parts of a wait: found along the stays of a CPU, and told to a table. And for how long
// another CPU was idle meanwhile.
#pragma once
#include "waits.h"

// general is the cause as people know it.
INLINE u32 general(u8 cause)
{
	return cause < CAUSES ? cause : KERNEL;
}

// unlisted counts a part for which there is no room in the table.
INLINE int unlisted(struct part *p, u32 slot, u64 ns)
{
	struct totals *totals = of_slot(slot);
	if (totals) {
		count(totals->lost, 1);
		count(totals->unlisted[general(p->key.cause)], ns);
	}
	p->told = p->ns;
	return 0;
}

// tell adds a part to the table, or the sum of several in one bin, the longest of which is given.
ONCE int tell(struct part *p, u32 slot, u32 waits, u64 longest)
{
	if (!p)
		return 0;
	u32 zero = 0;
	u64 ns = p->ns - p->told;
	struct key key = p->key;

	if (!p->ns)
		return 0;
	key.slot = slot;
	void *table = bpf_map_lookup_elem(&tables, &zero);
	if (!table)
		return 0;
	struct row *r = bpf_map_lookup_elem(table, &key);
	if (!r) {
		void *first = bpf_map_lookup_elem(&blank, &zero);
		if (!first)
			return 0;
		bpf_map_update_elem(table, &key, first, BPF_NOEXIST); // another CPU may have added it
		r = bpf_map_lookup_elem(table, &key);
		if (!r)
			return unlisted(p, slot, ns);
		r->name = p->name;
	}
	count(r->ns, ns);
	p->told = p->ns;
	if (!waits) // it has not ended
		return 0;
	u32 b = bin(longest);
	if (b < BINS)
		count(r->bins[b], waits);
	u64 before = r->longest;
	if (longest > before)
		__sync_val_compare_and_swap(&r->longest, before, longest);
	return 0;
}

// tell_one tells what was kept in one place.
ONCE int tell_one(struct totals *totals, struct kept *k, u32 slot)
{
	if (!totals || !k || !k->waits)
		return 0;
	u32 b = k->bin;
	if (b < BINS)
		count(totals->bins[k->preempted & 1][b], k->waits);
	tell(&k->part, slot, k->waits, k->longest);
	k->waits = 0;
	return 0;
}

// tell_kept tells all that was kept.
ONCE int tell_kept(struct totals *totals, struct watch *w)
{
	for (u32 i = 0; totals && w && i < KEPT; i++)
		tell_one(totals, &w->kept[i], w->slot);
	return 0;
}

// keep adds a wait of one part to those that are kept: to tell takes longer.
ONCE int keep(struct totals *totals, struct watch *w, u32 bin)
{
	if (!totals || !w)
		return 0;
	struct kept *k = &w->kept[bin & (KEPT - 1)];
	struct part *p = &w->parts[0];

	if (!k->waits || k->bin != bin || k->preempted != w->preempted || k->part.key.group != p->key.group || *(u64 *)&k->part.key.id != *(u64 *)&p->key.id) {
		tell_one(totals, k, w->slot);
		k->part = *p;
		k->longest = p->ns;
		k->bin = bin;
		k->preempted = w->preempted;
		k->waits = 1;
		return 0;
	}
	k->part.ns += p->ns;
	if (p->ns > k->longest)
		k->longest = p->ns;
	k->waits++;
	return 0;
}

// add_part adds to the parts of a wait.
ONCE int add_part(struct watch *w, struct key *key, struct name *name, u64 ns)
{
	if (!w || !key || !name || !ns)
		return 0;
	for (u32 i = 0; i < PARTS; i++) {
		struct part *p = &w->parts[i];
		if (i >= w->used) {
			w->used = i + 1;
			p->key = *key;
			p->ns = ns;
			p->told = 0;
			p->name = *name;
			return 0;
		}
		if (p->key.group == key->group && *(u64 *)&p->key.id == *(u64 *)&key->id) {
			p->ns += ns;
			return 0;
		}
	}
	w->rest[general(key->cause)] += ns;
	struct part p = { .key = *key, .ns = ns, .name = *name };
	tell(&p, w->slot, 1, ns);
	return 0;
}

struct cut { // what a piece of a wait is cut into, along the stays of a CPU, from the last one back
	u64 from, to; // what is still to be cut
	u64 end;      // of the stay that is looked at
	u64 irq, softirq, steal;
	u32 irq_longest, irq_id, softirq_longest, softirq_id;
	u64 tgid;
};

INLINE u64 share(u64 ns, u64 part, u64 whole)
{
	return part >= whole ? ns : ns * (part >> 10) / ((whole >> 10) + 1);
}

// interrupted takes out of a part of a stay what interrupts and the hypervisor had of it: their
// share of the stay, since it is not known when they came.
INLINE u64 interrupted(struct cut *x, struct stay *s, u64 ns)
{
	u64 length = s->start ? x->end - s->start : ns;
	u64 irq = share(s->irq_ns, ns, length), softirq = share(s->softirq_ns, ns, length), steal = share(s->steal_ns, ns, length);

	if (irq > ns)
		irq = ns;
	if (softirq > ns - irq)
		softirq = ns - irq;
	if (steal > ns - irq - softirq)
		steal = ns - irq - softirq;
	x->irq += irq;
	x->softirq += softirq;
	x->steal += steal;
	if (irq > x->irq_longest) {
		x->irq_longest = irq;
		x->irq_id = s->irq;
	}
	if (softirq > x->softirq_longest) {
		x->softirq_longest = softirq;
		x->softirq_id = s->softirq;
	}
	return irq + softirq + steal;
}

INLINE u8 cause_of(struct stay *s, u32 tgid)
{
	if (s->occupant == IDLE)
		return WAKING;
	if (s->occupant == UNSEEN)
		return UNKNOWN;
	if (s->occupant == KTHREAD)
		return KERNEL;
	if (s->tgid == tgid)
		return SELF;
	return s->policy == SCHED_FIFO || s->policy == SCHED_RR || s->policy == SCHED_DEADLINE ? REALTIME : NEIGHBOUR;
}

// lose counts what was not seen, or had no room.
ONCE int lose(u32 slot)
{
	struct totals *totals = of_slot(slot);
	if (totals)
		count(totals->lost, 1);
	return 0;
}

// cut_stay adds what a wait has of a stay; it returns whether that was the last one.
ONCE int cut_stay(struct watch *w, struct cut *x, struct stay *s)
{
	if (!w || !x || !s)
		return 1;
	u64 start = s->start, from = start > x->from ? start : x->from;
	struct name name = {};

	if (from >= x->to) {
		x->end = start;
		return 0;
	}
	u64 ns = x->to - from, taken = 0;
	if (s->irq_ns | s->softirq_ns | s->steal_ns)
		taken = interrupted(x, s, ns);
	struct key key = { .cause = cause_of(s, x->tgid) };
	if (s->occupant == USER || s->occupant == KTHREAD) {
		key.group = s->group;
		key.id = s->tgid;
		key.policy = s->policy;
		key.priority = s->priority;
		name = s->name;
	} else if (s->occupant == UNSEEN && !s->told) {
		s->told = 1;
		lose(w->slot);
	}
	add_part(w, &key, &name, ns - taken);
	x->to = from;
	x->end = start;
	return from <= x->from;
}

struct walk {
	struct cpu *c;
	struct watch *w;
	struct cut cut;
	u64 head;
};

static long step(u32 i, struct walk *x)
{
	return cut_stay(x->w, &x->cut, &x->c->ring[(x->head - i) & (STAYS - 1)]) & 1;
}

INLINE void add_nameless(struct watch *w, u8 cause, u32 id, u64 ns)
{
	struct key key = { .cause = cause, .id = id };
	struct name nobody = {};
	add_part(w, &key, &nobody, ns);
}

// whose_limit notes whose limit kept a task off the CPU between begun and fresh, and returns for how
// long some did.
ONCE u64 whose_limit(struct watch *w)
{
	if (!w || w->fresh.n != w->begun.n || w->fresh.leaf <= w->begun.leaf)
		return 0;
	// A queue's clock also runs for the limits above it.
	s64 best = -1, above = 0;
	for (int i = LIMITS - 1; i >= 0; i--) {
		if (i >= w->fresh.n)
			continue;
		s64 grown = w->fresh.clock[i] - w->begun.clock[i];
		if (grown - above > best) {
			best = grown - above;
			w->limit_group = w->fresh.group[i];
		}
		above = grown;
	}
	return w->fresh.leaf - w->begun.leaf;
}

// limit_of is for how long a limit kept a task off the CPU since its wait began, and notes whose.
INLINE u64 limit_of(struct watch *w, struct task_struct *t, u64 now)
{
	if (!w->limited || !w->begun.n)
		return 0;
	find_limits(t, now, &w->fresh);
	return whose_limit(w);
}

// turn is when a part makes room for a limit: nothing first, then others, and last those of its own
// group, who cannot run meanwhile.
INLINE u32 turn_of(struct part *p, u64 own)
{
	u8 cause = p->key.cause;
	if (cause == WAKING || cause == UNKNOWN)
		return 0;
	return cause == SELF || p->key.group == own ? 2 : 1;
}

// take_turn takes time of the parts that make room in a turn.
ONCE u64 take_turn(struct watch *w, u64 own, u64 ns, u32 turn)
{
	u64 taken = 0;

	if (!w)
		return 0;
	for (u32 i = 0; i < PARTS && i < w->used; i++) {
		struct part *p = &w->parts[i];
		u64 cut = p->ns - p->told;
		if (p->key.cause == LIMIT || turn_of(p, own) != turn)
			continue;
		if (cut > ns - taken)
			cut = ns - taken;
		p->ns -= cut;
		taken += cut;
	}
	return taken;
}

// take_limit puts the time of a limit in place of what else happened.
ONCE int take_limit(struct watch *w, u64 own, u64 ns)
{
	u64 left = ns;

	if (!w)
		return 0;
	left -= take_turn(w, own, left, 0);
	left -= take_turn(w, own, left, 1);
	left -= take_turn(w, own, left, 2);
	struct name nobody = {};
	struct key key = { .cause = LIMIT, .group = w->limit_group };
	return add_part(w, &key, &nobody, ns - left);
}

// split adds a piece of a wait, up to now on the queue of a CPU, to its parts.
ONCE int split(struct cpu *c, struct watch *w, u32 tgid, u64 now, u64 ns)
{
	if (!c || !w)
		return 0;
	u32 head = c->head;
	struct stay *s = &c->ring[head & (STAYS - 1)];
	if (s->start >= now)
		s = &c->ring[--head & (STAYS - 1)];
	struct walk x = { .c = c, .w = w, .head = head - 1, .cut = { .from = now - ns, .to = now, .end = now, .tgid = tgid } };

	w->waited += ns;
	if (!cut_stay(w, &x.cut, s)) // mostly one is enough
		bpf_loop(STAYS, step, &x, 0);
	struct cut *cut = &x.cut;
	if (cut->to > cut->from)
		add_nameless(w, UNKNOWN, 0, cut->to - cut->from);
	if (!(cut->irq | cut->softirq | cut->steal))
		return 0;
	add_nameless(w, IRQ, cut->irq_id, cut->irq);
	add_nameless(w, SOFTIRQ, cut->softirq_id, cut->softirq);
	add_nameless(w, HOST, 0, cut->steal);
	return 0;
}

// note_longest keeps a wait that has ended, if it is the longest of its span.
ONCE int note_longest(struct longest *l, struct watch *w, u32 tid, u32 cpu, u64 end)
{
	if (!l || !w)
		return 0;
	for (int try = 0; try < 32; try++) { // another CPU has it for some 100 ns
		if (w->waited <= l->ns)
			return 0;
		if (__sync_val_compare_and_swap(&l->busy, 0, 1))
			continue;
		if (w->waited > l->ns) {
			l->ns = w->waited;
			l->end = end;
			l->tid = tid;
			l->cpu = cpu;
			l->used = w->used;
			__builtin_memcpy(l->rest, w->rest, sizeof(l->rest));
			__builtin_memcpy(l->parts, w->parts, sizeof(l->parts));
		}
		__sync_lock_test_and_set(&l->busy, 0);
		return 0;
	}
	return 0;
}

// finish accounts a wait that has ended.
ONCE int finish(struct totals *totals, struct watch *w, u32 tid, u32 cpu, u64 end)
{
	if (!totals || !w)
		return 0;
	u64 ns = w->waited;
	u32 b = bin(ns);

	if (!ns)
		return 0;
	struct longest *l = &totals->spans[window & 1].longest;
	if (ns > l->ns)
		note_longest(l, w, tid, cpu, end);
	if (w->used == 1 && !w->parts[0].told) {
		keep(totals, w, b);
		w->waited = 0;
		w->used = 0;
		return 0;
	}
	if (b < BINS)
		count(totals->bins[w->preempted & 1][b], 1);
	for (u32 i = 0; i < PARTS && i < w->used; i++)
		tell(&w->parts[i], w->slot, 1, w->parts[i].ns);
	if (w->used == PARTS)
		__builtin_memset(w->rest, 0, sizeof(w->rest));
	w->waited = 0;
	w->used = 0;
	return 0;
}

// delay_of is a task's run delay, with that of the wait that goes on; open is the latter.
INLINE u64 delay_of(struct task_struct *t, u64 now, u64 *open)
{
	u64 since = ours(t)->sched_info.last_queued;
	*open = since && now > since ? now - since : 0;
	return ours(t)->sched_info.run_delay + *open;
}

struct search { // for idle CPUs
	u64 from, to;
	u64 mask, cpuset; // addresses of the CPUs that the task may use, and of those its control group may
	u64 best[EXCLUDED];
	u32 where[EXCLUDED];
	u32 own;
};

INLINE u64 both(u64 from, u64 to, u64 from2, u64 to2)
{
	from = from > from2 ? from : from2;
	to = to < to2 ? to : to2;
	return to > from ? to - from : 0;
}

INLINE bool has(u64 mask, u32 cpu)
{
	u64 word = 0;
	bpf_probe_read_kernel(&word, sizeof(word), (void *)(mask + cpu / 64 * 8));
	return word >> (cpu & 63) & 1;
}

INLINE bool online(struct cpu *c)
{
	int yes = 0;
	bpf_probe_read_kernel(&yes, sizeof(yes), (void *)(c->rq + field_offset(((struct rq___waits *)0)->online)));
	return yes;
}

// look_at notes for how long a CPU was idle.
ONCE int look_at(struct search *x, u32 cpu)
{
	struct cpu *c = of_cpu(cpu);
	if (!c || !x)
		return 1;
	u64 since = c->idle_since, ns = both(x->from, x->to, c->idle_from, c->idle_to);
	ns += since ? both(x->from, x->to, since, x->to) : 0;
	if (!ns || cpu == x->own || !online(c))
		return 0;
	if (has(x->mask, cpu)) {
		if (ns > x->best[MISSED])
			x->best[MISSED] = ns;
	} else if (!x->cpuset || has(x->cpuset, cpu)) {
		if (ns > x->best[BY_MASK]) {
			x->best[BY_MASK] = ns;
			x->where[BY_MASK] = cpu;
		}
	} else if (ns > x->best[BY_CPUSET]) {
		x->best[BY_CPUSET] = ns;
		x->where[BY_CPUSET] = cpu;
	}
	return 0;
}

static long look(u32 cpu, struct search *x)
{
	return look_at(x, cpu) & 1;
}

INLINE u64 cpuset_of(struct task_struct *t)
{
	if (!controller_exists(cpuset_cgrp_id))
		return 0;
	struct cgroup_subsys_state *css = css_of(ours(t)->cgroups, controller(cpuset_cgrp_id)); // the cpuset begins with it
	if (field_exists(((struct cpuset___pointer *)0)->effective_cpus)) {
		u64 mask = 0;
		bpf_probe_read_kernel(&mask, sizeof(mask), (void *)css + field_offset(((struct cpuset___pointer *)0)->effective_cpus));
		return mask;
	}
	return (u64)css + field_offset(((struct cpuset___array *)0)->effective_cpus);
}

// leave_out notes a CPU that was idle and excluded.
ONCE int leave_out(struct totals *totals, u32 cpu)
{
	u32 word = cpu / 64;

	if (totals && word < WORDS)
		__sync_fetch_and_or(&totals->spans[window & 1].idle[word], 1ULL << (cpu & 63));
	return 0;
}

enum { SHORT = 20000 }; // ns; for shorter waits nobody looks elsewhere

// find_idle adds for how long some other CPU was idle during a wait. It takes the CPU that was so
// for longest, and those that were left out only for what one that was not left out was not idle.
static __attribute__((noinline)) void find_idle(struct totals *totals, struct task_struct *t, u32 cpu, u64 from, u64 to)
{
	if ((s64)(to - from) < SHORT)
		return;
	struct search x = { .from = from, .to = to, .own = cpu, .mask = (u64)&t->cpus_mask, .cpuset = cpuset_of(t) };
	bpf_loop(cpu_count, look, &x, 0);
	u64 covered = x.best[MISSED];
	if (covered)
		count(totals->avoidable[MISSED], covered);
	if (x.best[BY_MASK] > covered) {
		count(totals->avoidable[BY_MASK], x.best[BY_MASK] - covered);
		leave_out(totals, x.where[BY_MASK]);
		covered = x.best[BY_MASK];
	}
	if (x.best[BY_CPUSET] > covered) {
		count(totals->avoidable[BY_CPUSET], x.best[BY_CPUSET] - covered);
		leave_out(totals, x.where[BY_CPUSET]);
	}
}
