// SPDX-License-Identifier: MIT OR GPL-2.0
// Walks all tasks through a file that is read to its end (iter/task, Linux
// 5.8): for kernels without the open-coded iterator.
#include "record.h"

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
} __attribute__((preserve_access_index));

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
} __attribute__((preserve_access_index));

SEC("iter/task")
int dump(struct bpf_iter__task *ctx)
{
	u32 zero = 0;
	struct task_struct *t = ctx->task;
	struct walk_state *s = bpf_map_lookup_elem(&state, &zero);
	struct task_record r;

	if (!t || !s)
		return 0;
	read_thread(&r.thread, t, t, s);
	r.thread.tid = t->pid;
	r.thread.tgid = t->tgid;
	read_task(&r, t, t);
	if (t->pid == t->tgid)
		add_exited(&r, t);
	bpf_seq_write(ctx->meta->seq, &r, sizeof(r));
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
