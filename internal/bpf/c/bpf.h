// SPDX-License-Identifier: MIT OR GPL-2.0
// What a BPF program needs of its environment: helpers by their number in
// include/uapi/linux/bpf.h, map definitions as BTF, CO-RE questions.
#pragma once

typedef unsigned char u8;
typedef signed char s8;
typedef unsigned short u16;
typedef short s16;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;
typedef _Bool bool;

#define NULL ((void *)0)
#define SEC(name) __attribute__((section(name), used))
#define __ksym __attribute__((section(".ksyms")))
#define INLINE static inline __attribute__((always_inline))

// Fields of a map definition.
#define __uint(name, value) int(*name)[value]
#define __type(name, type) typeof(type) *name
#define __array(name, type) typeof(type) *name[]

enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_SK_STORAGE = 24,
	BPF_MAP_TYPE_RINGBUF = 27,
};
enum { BPF_ANY = 0, BPF_NOEXIST = 1 };
enum { BPF_F_NO_PREALLOC = 1 << 0, BPF_F_MMAPABLE = 1 << 10, BPF_F_INNER_MAP = 1 << 12 };
enum { BPF_SK_STORAGE_GET_F_CREATE = 1 };
enum { BPF_RB_NO_WAKEUP = 1 };

static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*bpf_map_update_elem)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*bpf_map_delete_elem)(void *map, const void *key) = (void *)3;
static u64 (*bpf_ktime_get_ns)(void) = (void *)5;
static u32 (*bpf_get_smp_processor_id)(void) = (void *)8;
static u64 (*bpf_get_current_pid_tgid)(void) = (void *)14;
static long (*bpf_get_current_comm)(void *buf, u32 size) = (void *)16;
static u64 (*bpf_get_socket_cookie)(void *sk) = (void *)46;
static void *(*bpf_sk_storage_get)(void *map, void *sk, void *value, u64 flags) = (void *)107;
static long (*bpf_probe_read_kernel)(void *dst, u32 size, const void *src) = (void *)113;
static long (*bpf_seq_write)(void *seq, const void *data, u32 len) = (void *)127;
static void *(*bpf_ringbuf_reserve)(void *ringbuf, u64 size, u64 flags) = (void *)131;
static void *(*bpf_skc_to_tcp_sock)(void *sk) = (void *)137;
static void *(*bpf_get_current_task_btf)(void) = (void *)158;
static long (*bpf_for_each_map_elem)(void *map, void *each, void *ctx, u64 flags) = (void *)164;
static void (*bpf_ringbuf_submit)(void *data, u64 flags) = (void *)132;
extern void *bpf_rdonly_cast(const void *object, u32 type) __ksym; // Linux 6.2

// The loader answers these from the running kernel's BTF; code behind a "no"
// is then removed by the verifier.
#define field_exists(field) __builtin_preserve_field_info(field, 2)
#define type_exists(type) __builtin_preserve_type_info(*(typeof(type) *)0, 0)
#define field_offset(field) __builtin_preserve_field_info(field, 0)
#define field_bytes(field) __builtin_preserve_field_info(field, 1)
#define kernel_type_id(type) __builtin_btf_type_id(*(typeof(type) *)0, 1)

// A relaxed atomic add; programs of several CPUs share these counters.
#define count(where, n) ((void)__sync_fetch_and_add(&(where), (n)))
