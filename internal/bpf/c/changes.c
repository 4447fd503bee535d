// SPDX-License-Identifier: MIT OR GPL-2.0
// Reports the system calls that set how a task or a control group is scheduled: who made
// them, what was set before and after, and the result. Control groups are set by writing to
// files of theirs, so each write of the machine is looked at.
#include "cgroup.h"
#include "pids.h"

enum call { // SetCall in changes.go; those from WRITE on are of a file
	NO_CALL,
	AFFINITY,
	SCHEDULER,
	PARAM,
	ATTR,
	PRIORITY,
	IOPRIO,
	WRITE,
	WRITEV,
};

enum {
	MASK_WORDS = 128, // 8,192 CPUs
	MORE_WORDS = 15,  // that a mask may have above those that this machine uses
	TEXT = 64,
	NAME = 32,
};
enum { CGROUP_SUPER_MAGIC = 0x27e0eb, CGROUP2_SUPER_MAGIC = 0x63677270 };
enum { TS_COMPAT = 2, TIF_32BIT = 22 };
enum { PRIO_PROCESS = 0, IOPRIO_WHO_PROCESS = 1 };
enum { BPF_MAP_TYPE_TASK_STORAGE = 29, BPF_LOCAL_STORAGE_GET_F_CREATE = 1 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pt_regs___x86 {
	unsigned long di, si, dx, r10, orig_ax;
};

struct pt_regs___arm {
	u64 regs[4];
	s32 syscallno;
};

struct thread_info___x86 {
	u32 status;
};

struct thread_info___arm {
	unsigned long flags;
};

struct super_block {
	u32 s_dev;
	unsigned long s_magic;
};

struct inode {
	unsigned long i_ino;
	struct super_block *i_sb;
	void *i_private; // of a control group's: its struct kernfs_node
};

struct qstr {
	const char *name;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
	struct super_block *d_sb;
};

struct path {
	struct dentry *dentry;
};

struct file {
	struct path f_path;
	struct inode *f_inode;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct mm_struct___exe {
	struct file *exe_file;
};

struct io_context {
	u16 ioprio;
};

struct sched_dl_entity {
	u64 dl_runtime, dl_deadline, dl_period;
};

struct task_struct___set {
	struct files_struct *files;
	struct mm_struct___exe *mm;
	struct io_context *io_context;
	struct sched_dl_entity dl;
	struct css_set *cgroups;
};

struct cfs_bandwidth {
	s64 period; // ns
	u64 quota, burst;
};

struct task_group { // begins with its cgroup_subsys_state, as a cpuset does
	unsigned long shares;
	int idle; // Linux 5.15
	struct cfs_bandwidth cfs_bandwidth; // CONFIG_CFS_BANDWIDTH
};

struct cpuset___pointer {
	struct cpumask *cpus_allowed; // CONFIG_CPUMASK_OFFSTACK
};

struct cpuset___array {
	struct cpumask cpus_allowed[1];
};

#pragma clang attribute pop

struct task_state { // taskSet in changes.go
	u64 start; // ns since boot, suspend included; 0 = there is no such task
	u64 group; // number of its control group in the hierarchy that is written to
	u64 runtime, deadline, period;
	u32 tid, tgid, policy, static_prio, rt_priority, ioprio;
	char comm[16];
};

struct group_state { // groupSet in changes.go
	u64 shares, quota, period, burst;
	u32 idle;
	u8 cpu, cpuset, bandwidth, pad; // the group has the controller
};

struct change { // setEvent in changes.go
	u64 ns; // CLOCK_MONOTONIC
	s64 result;
	u64 args[4];
	u64 exe, folder, by_group; // numbers of the changer's program, of the group written to, of the changer's group
	u32 exe_device, device;
	u32 call, by_tid, by_tgid, unified;
	char by_comm[16];
	struct task_state task[2];
	struct group_state group[2];
	char file[NAME];
	u8 text[TEXT]; // what was written, or what a pointer in the arguments points to
	u64 masks[3 * MASK_WORDS + MORE_WORDS]; // before, after, and what was asked for: mask_words of each, MORE_WORDS more of the last
};
_Static_assert(sizeof(struct change) == 448 + 8 * (3 * MASK_WORDS + MORE_WORDS), "setEvent in changes.go");

struct pending { // a call that has begun
	u32 begun, nr; // nr: of the task that it is about
	u64 cgroup;    // address of the group that is written to
	struct change c;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct pending);
} calls_begun SEC(".maps");

struct { // what system calls do; the loader knows their numbers
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 512);
	__type(key, u32);
	__type(value, u32);
} calls SEC(".maps");

struct { // the loader sets the size
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} events SEC(".maps");

u64 lost; // calls that are not reported, since loading

// mask_words is how many words of a mask this machine uses.
const volatile u32 mask_words = MASK_WORDS;

static long (*bpf_probe_read_user)(void *dst, u32 size, const void *src) = (void *)112;
static long (*bpf_probe_read_kernel_str)(void *dst, u32 size, const void *src) = (void *)115;
static long (*bpf_ringbuf_output)(void *ringbuf, void *data, u64 size, u64 flags) = (void *)130;
static void *(*bpf_task_storage_get)(void *map, struct task_struct *t, void *value, u64 flags) = (void *)156;

// peek reads a field of an object that only its address is known of. It cannot fault: it gives 0.
#define peek(field) ({ typeof(field) now = 0; bpf_probe_read_kernel(&now, sizeof(now), &(field)); now; })
#define set_of(t) ((struct task_struct___set *)(t))

// foreign reports whether the call is of a 32-bit program: its numbers mean others.
INLINE bool foreign(struct task_struct *t)
{
	if (field_exists(((struct thread_info___x86 *)0)->status))
		return ((struct thread_info___x86 *)&t->thread_info)->status & TS_COMPAT;
	return ((struct thread_info___arm *)&t->thread_info)->flags & 1UL << TIF_32BIT;
}

// task_of is the task that has a number in the namespace of the current one, 0 for none.
INLINE struct task_struct *task_of(u32 nr)
{
	struct task_struct___pid *me = bpf_get_current_task_btf();
	if (!nr)
		return (void *)me;
	struct pid *own = peek(me->thread_pid);
	u64 level = peek(own->level);
	struct pid_namespace *ns = NULL;
	bpf_probe_read_kernel(&ns, sizeof(ns), (void *)own + field_offset(own->numbers) + level * field_bytes(own->numbers[0]) + field_offset(((struct upid *)0)->ns));
	u64 entry = ns ? (u64)peek(ns->idr.idr_rt.xa_head) : 0;
	for (int i = 0; i < MAX_LEVELS && is_node(entry); i++) {
		struct xa_node *node = (void *)(entry - NODE_TAG);
		u32 shift = peek(node->shift) & 31;
		if (!i && (u64)nr >> shift >> NODE_BITS)
			return NULL;
		u64 slot = (nr >> shift) & (NODE_SLOTS - 1);
		bpf_probe_read_kernel(&entry, sizeof(entry), (void *)node + field_offset(node->slots) + slot * sizeof(void *));
	}
	if (!entry || entry & 3)
		return NULL;
	struct hlist_node *link = peek(((struct pid *)entry)->tasks[0].first);
	return link ? (void *)link - field_offset(((struct task_struct___pid *)0)->pid_links) : NULL;
}

INLINE u64 number_of(struct cgroup *g)
{
	return g ? peek(peek(g->kn)->id) : 0;
}

INLINE struct cgroup_subsys_state *css_at(void *list, u64 controller)
{
	struct cgroup_subsys_state *css = NULL;
	bpf_probe_read_kernel(&css, sizeof(css), list + 8 * controller);
	return css;
}

// group_in is a task's group in the hierarchy of another group.
INLINE u64 group_in(struct task_struct *t, struct cgroup *other)
{
	struct css_set *set = peek(set_of(t)->cgroups);
	void *root = peek(other->root);
	struct cgroup *g = peek(set->dfl_cgrp);

	if (peek(g->root) == root)
		return number_of(g);
	if (controller_exists(cpu_cgrp_id)) {
		g = peek(css_at((void *)set + field_offset(set->subsys), controller(cpu_cgrp_id))->cgroup);
		if (peek(g->root) == root)
			return number_of(g);
	}
	if (controller_exists(cpuset_cgrp_id)) {
		g = peek(css_at((void *)set + field_offset(set->subsys), controller(cpuset_cgrp_id))->cgroup);
		if (peek(g->root) == root)
			return number_of(g);
	}
	return 0;
}

INLINE void see_task(struct pending *p, u32 when)
{
	struct task_struct *t = task_of(p->nr);
	struct task_state *s = &p->c.task[when];

	s->start = 0;
	if (!t)
		return;
	s->start = peek(t->start_boottime);
	s->tid = peek(t->pid);
	s->tgid = peek(t->tgid);
	s->policy = peek(t->policy);
	s->static_prio = peek(t->static_prio);
	s->rt_priority = peek(t->rt_priority);
	struct io_context *io = peek(set_of(t)->io_context);
	s->ioprio = io ? peek(io->ioprio) : 0;
	s->runtime = peek(set_of(t)->dl.dl_runtime);
	s->deadline = peek(set_of(t)->dl.dl_deadline);
	s->period = peek(set_of(t)->dl.dl_period);
	bpf_probe_read_kernel(s->comm, sizeof(s->comm), &t->comm);
	if (p->cgroup)
		s->group = group_in(t, (void *)p->cgroup);
	else
		bpf_probe_read_kernel(p->c.masks + when * mask_words, mask_words * 8, &t->cpus_mask);
}

// cpus_of is the address of the CPUs that a cpuset was given.
INLINE u64 cpus_of(void *cs)
{
	if (field_exists(((struct cpuset___pointer *)0)->cpus_allowed))
		return (u64)peek(((struct cpuset___pointer *)cs)->cpus_allowed);
	return (u64)cs + field_offset(((struct cpuset___array *)0)->cpus_allowed);
}

INLINE void see_group(struct pending *p, u32 when)
{
	struct cgroup *g = (void *)p->cgroup;
	struct group_state *s = &p->c.group[when];

	s->cpu = s->cpuset = s->bandwidth = 0;
	if (controller_exists(cpu_cgrp_id)) {
		struct task_group *tg = (void *)css_at((void *)g + field_offset(g->subsys), controller(cpu_cgrp_id));
		s->cpu = tg != NULL;
		s->shares = tg ? peek(tg->shares) : 0;
		s->idle = tg && field_exists(tg->idle) ? peek(tg->idle) : 0;
		if (tg && field_exists(tg->cfs_bandwidth)) {
			s->bandwidth = 1;
			s->quota = peek(tg->cfs_bandwidth.quota);
			s->period = peek(tg->cfs_bandwidth.period);
			s->burst = peek(tg->cfs_bandwidth.burst);
		}
	}
	if (controller_exists(cpuset_cgrp_id)) {
		void *cs = css_at((void *)g + field_offset(g->subsys), controller(cpuset_cgrp_id));
		if (!cs)
			return;
		s->cpuset = 1;
		bpf_probe_read_kernel(p->c.masks + when * mask_words, mask_words * 8, (void *)cpus_of(cs));
	}
}

// file_of is the file of a control group that a descriptor stands for.
INLINE struct dentry *file_of(struct task_struct *t, u32 fd)
{
	struct fdtable *table = set_of(t)->files->fdt;
	struct file *f = NULL;

	if (fd >= table->max_fds)
		return NULL;
	bpf_probe_read_kernel(&f, sizeof(f), table->fd + fd);
	struct dentry *d = f ? peek(f->f_path.dentry) : NULL;
	if (!d)
		return NULL;
	u64 magic = peek(peek(d->d_sb)->s_magic);
	return magic == CGROUP_SUPER_MAGIC || magic == CGROUP2_SUPER_MAGIC ? d : NULL;
}

struct iovec {
	u64 base, bytes;
};

// see_text reads what is written, of several pieces the first that is not empty.
INLINE void see_text(struct change *c)
{
	struct iovec piece = { c->args[1], c->args[2] };

	if (c->call == WRITEV) {
		struct iovec two[2] = {};
		bpf_probe_read_user(two, sizeof(two[0]) * (c->args[2] > 1 ? 2 : 1), (void *)c->args[1]);
		piece = two[0].bytes ? two[0] : two[1];
	}
	u64 bytes = piece.bytes < TEXT - 1 ? piece.bytes : TEXT - 1;
	asm volatile("%0 &= %1" : "+r"(bytes) : "i"(TEXT - 1)); // for the verifier of Linux 6.1
	c->text[bytes] = 0;
	if (bpf_probe_read_user(c->text, bytes, (void *)piece.base))
		c->text[0] = 0;
}

// moves is for a file into which the numbers of tasks are written.
INLINE bool moves(const char *file)
{
	return file[0] == 't' || (file[0] == 'c' && file[1] == 'g' && (file[7] == 'p' || file[7] == 't')); // tasks, cgroup.procs, cgroup.threads
}

enum { NO_TASK = ~0U };

INLINE u32 number_in(const u8 *text)
{
	u32 n = 0, i = 0;

	for (; i < 10 && text[i] >= '0' && text[i] <= '9'; i++)
		n = n * 10 + text[i] - '0';
	return i ? n : NO_TASK;
}

// begin_write prepares the report of a write to a file of a control group.
INLINE void begin_write(struct pending *p, struct dentry *d)
{
	struct change *c = &p->c;
	struct inode *folder = peek(peek(d->d_parent)->d_inode);
	struct kernfs_node *kn = peek(folder->i_private);
	struct super_block *sb = peek(d->d_sb);

	p->cgroup = (u64)peek(kn->priv);
	p->nr = NO_TASK;
	c->folder = peek(kn->id);
	c->device = peek(sb->s_dev);
	c->unified = peek(sb->s_magic) == CGROUP2_SUPER_MAGIC;
	bpf_probe_read_kernel_str(c->file, NAME, peek(d->d_name.name));
	see_text(c);
	if (moves(c->file))
		p->nr = number_in(c->text);
}

SEC("tp_btf/sys_enter")
int changes_enter(u64 *ctx)
{
	u32 number = ctx[1];
	u32 *call = bpf_map_lookup_elem(&calls, &number);
	struct task_struct *t = bpf_get_current_task_btf();
	struct pt_regs___x86 *x86 = (void *)ctx[0];
	struct pt_regs___arm *arm = (void *)ctx[0];
	struct dentry *d = NULL;
	u64 args[4];

	if (!call || !*call || foreign(t))
		return 0;
	if (field_exists(x86->di)) {
		args[0] = x86->di;
		args[1] = x86->si;
		args[2] = x86->dx;
		args[3] = x86->r10;
	} else {
		args[0] = arm->regs[0];
		args[1] = arm->regs[1];
		args[2] = arm->regs[2];
		args[3] = arm->regs[3];
	}
	if (*call >= WRITE && !(d = file_of(t, args[0])))
		return 0;
	struct pending *p = bpf_task_storage_get(&calls_begun, t, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!p) {
		count(lost, 1);
		return 0;
	}
	struct change *c = &p->c;
	c->call = *call;
	c->args[0] = args[0];
	c->args[1] = args[1];
	c->args[2] = args[2];
	c->args[3] = args[3];
	c->task[0].start = c->task[1].start = 0;
	c->text[0] = c->file[0] = 0;
	p->cgroup = 0;
	p->nr = args[0];
	if (*call == PRIORITY)
		p->nr = args[0] == PRIO_PROCESS ? args[1] : NO_TASK;
	else if (*call == IOPRIO)
		p->nr = args[0] == IOPRIO_WHO_PROCESS ? args[1] : NO_TASK;
	else if (*call >= WRITE)
		begin_write(p, d);
	if (p->nr != NO_TASK)
		see_task(p, 0);
	else if (p->cgroup)
		see_group(p, 0);
	p->begun = 1;
	return 0;
}

// see_wish reads what the arguments point to: by now the kernel has read it, so it is in memory.
INLINE void see_wish(struct change *c)
{
	u64 bytes = c->args[1];

	switch (c->call) {
	case AFFINITY:
		if (bytes > (mask_words + MORE_WORDS) * 8)
			bytes = (mask_words + MORE_WORDS) * 8;
		asm volatile("%0 &= %1" : "+r"(bytes) : "i"(2 * MASK_WORDS * 8 - 1)); // for the verifier of Linux 6.1
		c->args[1] = bpf_probe_read_user(c->masks + 2 * mask_words, bytes, (void *)c->args[2]) ? 0 : bytes;
		break;
	case SCHEDULER:
		bpf_probe_read_user(c->text, sizeof(u32), (void *)c->args[2]);
		break;
	case PARAM:
		bpf_probe_read_user(c->text, sizeof(u32), (void *)c->args[1]);
		break;
	case ATTR:
		bpf_probe_read_user(c->text, 48, (void *)c->args[1]); // SCHED_ATTR_SIZE_VER0
		break;
	}
	if (c->call >= WRITE)
		see_text(c);
}

SEC("tp_btf/sys_exit")
int changes_exit(u64 *ctx)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct pt_regs___x86 *x86 = (void *)ctx[0];
	struct pt_regs___arm *arm = (void *)ctx[0];
	u32 number = field_exists(x86->orig_ax) ? x86->orig_ax : arm->syscallno;
	u32 *call = bpf_map_lookup_elem(&calls, &number);

	if (!call || !*call)
		return 0;
	struct pending *p = bpf_task_storage_get(&calls_begun, t, NULL, 0);
	if (!p || !p->begun)
		return 0;
	struct change *c = &p->c;
	p->begun = 0;
	see_wish(c);
	if (p->nr == NO_TASK && c->call >= WRITE && moves(c->file)) // its text was not in memory
		p->nr = number_in(c->text);
	if (p->nr != NO_TASK)
		see_task(p, 1);
	else if (p->cgroup)
		see_group(p, 1);
	c->ns = bpf_ktime_get_ns();
	c->result = ctx[1];
	c->by_tid = t->pid;
	c->by_tgid = t->tgid;
	bpf_probe_read_kernel(c->by_comm, sizeof(c->by_comm), &t->comm);
	struct inode *exe = set_of(t)->mm->exe_file->f_inode;
	c->exe = exe->i_ino;
	c->exe_device = exe->i_sb->s_dev;
	c->by_group = number_of(peek(peek(set_of(t)->cgroups)->dfl_cgrp));
	if (bpf_ringbuf_output(&events, c, sizeof(*c) - sizeof(c->masks) + 8 * (3 * mask_words + MORE_WORDS), BPF_RB_NO_WAKEUP))
		count(lost, 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
