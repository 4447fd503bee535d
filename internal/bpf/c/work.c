// SPDX-License-Identifier: MIT OR GPL-2.0
// Counts what some processes do: their system calls, the bytes that these read and
// write, and how long their threads wait for a CPU.
#include "kernel.h"

enum {
	BUCKETS = 128, // four to each power of two
	FIRST = 8,     // 2^8 ns and less is the first
};

struct work { // workSums in work.go
	u64 calls, bytes;
	u32 waits[BUCKETS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct work);
} sums SEC(".maps");

struct { // ids of processes
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, u32);
	__type(value, u8);
} targets SEC(".maps");

struct { // sched_info.run_delay of a thread, ns; one that falls out loses a wait
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, u32);
	__type(value, u64);
} delays SEC(".maps");

struct { // system calls that return a number of bytes; the loader knows their numbers
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 512);
	__type(key, u32);
	__type(value, u8);
} moving SEC(".maps");

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct pt_regs___x86 {
	unsigned long orig_ax;
};
struct pt_regs___arm {
	s32 syscallno;
};
#pragma clang attribute pop

// of is the sums, if a process is counted.
INLINE struct work *of(u32 tgid)
{
	u32 zero = 0;
	if (!bpf_map_lookup_elem(&targets, &tgid))
		return NULL;
	return bpf_map_lookup_elem(&sums, &zero);
}

SEC("tp_btf/sys_enter")
int work_call(void *ctx)
{
	struct work *w = of(bpf_get_current_pid_tgid() >> 32);
	if (w)
		count(w->calls, 1);
	return 0;
}

SEC("tp_btf/sys_exit")
int work_bytes(u64 *ctx)
{
	s64 got = ctx[1];
	struct work *w = got > 0 ? of(bpf_get_current_pid_tgid() >> 32) : NULL;
	u32 number = 0;

	if (!w)
		return 0;
	if (field_exists(((struct pt_regs___x86 *)0)->orig_ax))
		number = ((struct pt_regs___x86 *)ctx[0])->orig_ax;
	else if (field_exists(((struct pt_regs___arm *)0)->syscallno))
		number = ((struct pt_regs___arm *)ctx[0])->syscallno;
	u8 *moves = bpf_map_lookup_elem(&moving, &number);
	if (moves && *moves)
		count(w->bytes, got);
	return 0;
}

// bucket is the one for a time in ns.
INLINE u32 bucket(u64 ns)
{
	u32 power = 0;
	u64 v = ns;

	if (v >> 32) { power += 32; v >>= 32; }
	if (v >> 16) { power += 16; v >>= 16; }
	if (v >> 8) { power += 8; v >>= 8; }
	if (v >> 4) { power += 4; v >>= 4; }
	if (v >> 2) { power += 2; v >>= 2; }
	if (v >> 1) power += 1;
	if (power < FIRST)
		return 0;
	return 4 * (power - FIRST) + ((ns >> (power - 2)) & 3) + 1;
}

// A thread that leaves its CPU had waited for it once, and the kernel has added that to
// its run_delay.
SEC("tp_btf/sched_switch")
int work_wait(u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1];
	struct work *w = of(prev->tgid);
	u32 tid = prev->pid;
	u64 now = prev->sched_info.run_delay;

	if (!w)
		return 0;
	u64 *before = bpf_map_lookup_elem(&delays, &tid);
	if (before && now >= *before) {
		u64 b = bucket(now - *before);
		if (b >= BUCKETS)
			b = BUCKETS - 1;
		asm volatile("%0 &= %1" : "+r"(b) : "i"(BUCKETS - 1)); // the verifier of Linux 6.1 lost the bound
		count(w->waits[b], 1);
	}
	bpf_map_update_elem(&delays, &tid, &now, BPF_ANY);
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
