// SPDX-License-Identifier: MIT OR GPL-2.0
// Control groups and what their controllers keep.
#pragma once
#include "kernel.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kernfs_node {
	u64 id;
	void *priv; // of a folder: its struct cgroup
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
	void *root; // of its hierarchy
	struct cgroup_subsys_state *subsys[1]; // really one a controller
};

struct css_set {
	struct cgroup_subsys_state *subsys[1]; // really one a controller
	struct cgroup *dfl_cgrp; // in the hierarchy of version 2
};

struct task_struct___groups {
	struct css_set *cgroups;
};

enum cgroup_subsys_id { // the loader puts in the kernel's own
	cpuset_cgrp_id = 0,
	cpu_cgrp_id = 1,
};

#pragma clang attribute pop

#define controller(id) ((u64)__builtin_preserve_enum_value(*(enum cgroup_subsys_id *)id, 1))
#define controller_exists(id) __builtin_preserve_enum_value(*(enum cgroup_subsys_id *)id, 0)
