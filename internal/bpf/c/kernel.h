// SPDX-License-Identifier: MIT OR GPL-2.0
// The kernel's own types, cut down to the fields that are read. The loader
// finds each field by name in the running kernel's BTF (CO-RE), so order, size
// and everything left out do not matter. A name after ___ is a variant of the
// same type in other kernels.
#pragma once
#include "bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct cpumask {
	unsigned long bits[1]; // really NR_CPUS bits
};

struct sched_avg { // PELT, kernel/sched/pelt.c; 1024 is one always busy nice-0 task
	u64 last_update_time; // ns
	unsigned long load_avg;
	unsigned long util_avg;
};

struct rq;

struct cfs_rq {
	struct sched_avg avg;
	struct rq *rq; // CONFIG_FAIR_GROUP_SCHED
};

struct rq {
	unsigned int nr_running;
	u64 nr_switches;
	struct cfs_rq cfs;
	u64 clock; // ns
	int cpu;
	struct sched_avg avg_rt;
	struct sched_avg avg_dl;
	struct sched_avg avg_irq; // CONFIG_HAVE_SCHED_AVG_IRQ
};

struct sched_entity {
	u64 sum_exec_runtime;
	u64 nr_migrations;
	struct cfs_rq *cfs_rq; // CONFIG_FAIR_GROUP_SCHED; of the CPU the task is on
	struct sched_entity *parent; // with it; the group that owns cfs_rq, none at the top
	struct sched_avg avg;
};

struct sched_info { // CONFIG_SCHED_INFO
	unsigned long pcount;
	unsigned long long run_delay;
};

struct signal_struct {
	int nr_threads;
	u64 utime, stime; // of threads that exited, like the rest
	unsigned long nvcsw, nivcsw;
	unsigned long min_flt, maj_flt;
	unsigned long long sum_sched_runtime;
};

struct percpu_counter {
	s64 count;
};

struct mm_struct {
	struct percpu_counter rss_stat[4]; // Linux 6.2
};

struct mm_rss_stat { // before Linux 6.2
	s64 count[4]; // really atomic_long_t; without a field clang 19 crashes at the offset of rss_stat
};

struct mm_struct___rss {
	struct mm_rss_stat rss_stat;
};

typedef struct {
	u32 val;
} kuid_t;

struct cred {
	kuid_t euid;
};

struct thread_info {
	u32 cpu; // Linux 5.16
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state; // Linux 5.14
	unsigned int flags;
	int on_cpu;
	int prio, static_prio;
	unsigned int rt_priority;
	struct sched_entity se;
	unsigned int policy;
	struct cpumask cpus_mask;
	struct sched_info sched_info;
	struct mm_struct *mm;
	int exit_state;
	int pid, tgid;
	struct task_struct *real_parent, *group_leader;
	u64 utime, stime;
	unsigned long nvcsw, nivcsw;
	u64 start_boottime;
	unsigned long min_flt, maj_flt;
	const struct cred *cred;
	char comm[16];
	struct signal_struct *signal;
};

struct task_struct___byte {
	u8 on_cpu; // Linux 7
};

struct task_struct___old {
	long state;       // before Linux 5.14
	unsigned int cpu; // before Linux 5.16
};

#pragma clang attribute pop

// task_cpu is the CPU that a task runs on, or ran on last.
INLINE u32 task_cpu(struct task_struct *t)
{
	if (field_exists(t->thread_info.cpu))
		return t->thread_info.cpu;
	return ((struct task_struct___old *)t)->cpu;
}
