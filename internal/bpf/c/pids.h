// SPDX-License-Identifier: MIT OR GPL-2.0
// The numbers of tasks: a radix tree (struct idr) for each PID namespace, which is safe to read
// under RCU (include/linux/idr.h; find_ge_pid of kernel/pid.c).
#pragma once
#include "kernel.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct xa_node { // a node of the radix tree
	u8 shift; // of a leaf 0
	void *slots[64]; // 16 with CONFIG_BASE_SMALL
};

struct xarray {
	void *xa_head;
};

struct idr {
	struct xarray idr_rt;
};

struct pid_namespace {
	struct idr idr;
};

struct hlist_node {
	struct hlist_node *next;
};

struct hlist_head {
	struct hlist_node *first;
};

struct upid {
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level; // of the namespace that the task is in
	struct hlist_head tasks[1]; // by enum pid_type: of the task that has the number, first
	struct upid numbers[1]; // by level: that of the initial namespace, first
};

struct task_struct___pid {
	struct pid *thread_pid;
	struct hlist_node pid_links[1]; // in tasks
};

#pragma clang attribute pop

enum {
	MAX_LEVELS = 6, // of the tree: 64^6 is above every number
	NODE_TAG = 2,   // in the low two bits of a pointer to a node
};

// Bits of a number by which a node is indexed.
#define NODE_BITS (field_bytes(((struct xa_node *)0)->slots) == 16 * sizeof(void *) ? 4 : 6)
#define NODE_SLOTS (1 << NODE_BITS)

INLINE bool is_node(u64 entry)
{
	return (entry & 3) == NODE_TAG;
}
