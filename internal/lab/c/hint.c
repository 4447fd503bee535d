// SPDX-License-Identifier: MIT OR GPL-2.0
// Writes the hint (hint.h) into the packets of connections that processes make, and the
// echo into the replies of those that are accepted. Programs and servers stay as they are.
//
// A connection that is made to be hinted has an entry in asking, an accepted one over
// which a hint came (by IP, each accepted one) has one in asked; no socket has both.
#include "hint.h"
#include "hook.h"
#include "sock.h"

struct asking {
	u64 task;   // the thread that read last; 0 before the first read
	u32 reader; // its number, by which a task that has ended is found out
	u32 cpu;    // on which it was; before the first read, where a thread last wrote
	u16 answered;
	u16 parsed; // another program had the options parsed before
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct asking);
} asking SEC(".maps");

struct asked {
	u32 cpu;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct asked);
} asked SEC(".maps");

struct { // ids of the processes whose connections are hinted
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, u32);
	__type(value, u8);
} targets SEC(".maps");

volatile const bool all_processes; // of the cgroup, instead of targets
volatile const bool by_ip;         // the hint is an option of IPv4
volatile const u32 mtu;            // of the interfaces, then

struct sums { // Sums in hint.go
	u64 connections; // made by targets, or accepted
	u64 hinted;      // of those: over which an echo came, or a hint
	u64 written;     // packets with the option as the kernel makes them, before they are cut into segments
};

struct {
	__uint(type, 6); // BPF_MAP_TYPE_PERCPU_ARRAY
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct sums);
} sums SEC(".maps");

INLINE struct sums *here(void)
{
	u32 zero = 0;
	return bpf_map_lookup_elem(&sums, &zero);
}

#define add(field) do { struct sums *s = here(); if (s) s->field++; } while (0)

INLINE u16 wire(u32 cpu)
{
	return __builtin_bswap16(cpu < HINT_NONE ? cpu : HINT_NONE);
}

INLINE void write(struct bpf_sock_ops *ctx, u32 consumer, u32 echo)
{
	struct hint h = {.kind = HINT_KIND, .length = HINT_LENGTH, .id = __builtin_bswap16(HINT_ID),
		.consumer = wire(consumer), .echo = wire(echo)};

	if (!bpf_store_hdr_opt(ctx, &h, sizeof(h), 0))
		add(written);
}

// read finds the hint of a received packet. What is asked for is the kind, how long that and
// the number are, and the number (bpf-helpers(7)).
INLINE bool read(struct bpf_sock_ops *ctx, struct hint *h)
{
	*h = (struct hint){.kind = HINT_KIND, .length = 4, .id = __builtin_bswap16(HINT_ID)};
	return bpf_load_hdr_opt(ctx, h, sizeof(*h), 0) == HINT_LENGTH;
}

#define before(a, b) ((s32)((a) - (b)) < 0)

// late reports whether a received packet was overtaken by one with data. An acknowledgement
// that another CPU sent can be, by the request that followed it.
INLINE bool late(struct bpf_sock_ops *ctx)
{
	const u32 *sequence = ctx->skb_data + 4;

	return (void *)(sequence + 1) > ctx->skb_data_end || before(__builtin_bswap32(*sequence), ctx->rcv_nxt);
}

// follow updates where the consumer is. That is the thread that read last, wherever a
// packet is sent: a softirq sends acknowledgements on any CPU. Before the first read it is
// the thread that writes, which holds the socket's lock.
INLINE void follow(struct asking *a, struct bpf_sock *sk)
{
	struct task_struct *reader = (void *)a->task;
	u32 pid = 0, cpu = 0;

	if (!reader) {
		struct sock *s = bpf_skc_to_tcp_sock(sk);
		if (s && s->sk_lock.owned)
			a->cpu = bpf_get_smp_processor_id();
		return;
	}
	// The memory may be another's by now, or nobody's.
	bpf_probe_read_kernel(&pid, sizeof(pid), &reader->pid);
	if (field_exists(reader->thread_info.cpu))
		bpf_probe_read_kernel(&cpu, sizeof(cpu), &reader->thread_info.cpu);
	else
		bpf_probe_read_kernel(&cpu, sizeof(cpu), &((struct task_struct___old *)reader)->cpu);
	if (pid == a->reader)
		a->cpu = cpu;
}

// The client's side.
SEC("sockops")
int hint_ask(struct bpf_sock_ops *ctx)
{
	struct bpf_sock *sk = ctx->sk;
	struct asking *a;
	struct hint h;
	u32 tgid;

	if (!sk)
		return 1;
	switch (ctx->op) {
	case CONNECT: // in connect(2)
		tgid = ((struct task_struct *)bpf_get_current_task_btf())->tgid;
		if (!all_processes && !bpf_map_lookup_elem(&targets, &tgid))
			return 1;
		a = bpf_sk_storage_get(&asking, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
		if (a)
			a->cpu = bpf_get_smp_processor_id();
		if (a && by_ip) { // what both sides send leaves room
			int segment = mtu - 40 - HINT_IP_LENGTH;
			if (segment > 32767) // MAX_TCP_WINDOW
				segment = 32767;
			bpf_setsockopt(ctx, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof(segment));
		}
		return 1;
	case ACTIVE_ESTABLISHED: // only now, so that no SYN has the option
		a = bpf_sk_storage_get(&asking, sk, NULL, 0);
		if (!a)
			return 1;
		if (by_ip) {
			add(connections);
			return 1;
		}
		a->parsed = !!(ctx->bpf_sock_ops_cb_flags & PARSE_UNKNOWN);
		bpf_sock_ops_cb_flags_set(ctx, ctx->bpf_sock_ops_cb_flags | PARSE_UNKNOWN | WRITE);
		add(connections);
		return 1;
	case OPTION_LENGTH:
		if (bpf_sk_storage_get(&asking, sk, NULL, 0))
			bpf_reserve_hdr_opt(ctx, HINT_LENGTH, 0);
		return 1;
	case WRITE_OPTION:
		a = bpf_sk_storage_get(&asking, sk, NULL, 0);
		if (!a)
			return 1;
		follow(a, sk);
		write(ctx, a->cpu, HINT_NONE);
		return 1;
	case PARSE_OPTION:
		a = bpf_sk_storage_get(&asking, sk, NULL, 0);
		if (a && !a->answered && read(ctx, &h) && h.echo != HINT_NONE) {
			a->answered = 1;
			add(hinted);
			if (!a->parsed) // one echo is enough
				bpf_sock_ops_cb_flags_set(ctx, ctx->bpf_sock_ops_cb_flags & ~PARSE_UNKNOWN);
		}
		return 1;
	}
	return 1;
}

// A thread that copies what was received is the consumer.
SEC("tp_btf/tcp_rcv_space_adjust")
int hint_read(u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	struct asking *a = bpf_sk_storage_get(&asking, sk, NULL, 0);

	if (!a || !sk->sk_lock.owned)
		return 0;
	a->task = bpf_get_current_task();
	a->reader = bpf_get_current_pid_tgid();
	a->cpu = bpf_get_smp_processor_id();
	return 0;
}

// The server's side.
SEC("sockops")
int hint_answer(struct bpf_sock_ops *ctx)
{
	struct bpf_sock *sk = ctx->sk;
	struct asked *a;
	struct hint h;

	if (!sk)
		return 1;
	switch (ctx->op) {
	case PASSIVE_ESTABLISHED:
		if (by_ip) {
			a = bpf_sk_storage_get(&asked, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
			if (a) {
				a->cpu = HINT_NONE;
				add(connections);
			}
			return 1;
		}
		bpf_sock_ops_cb_flags_set(ctx, ctx->bpf_sock_ops_cb_flags | PARSE_UNKNOWN);
		add(connections);
		return 1;
	case PARSE_OPTION:
		if (!read(ctx, &h) || h.consumer == HINT_NONE || late(ctx))
			return 1;
		a = bpf_sk_storage_get(&asked, sk, NULL, 0);
		if (!a) {
			a = bpf_sk_storage_get(&asked, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
			if (!a)
				return 1;
			bpf_sock_ops_cb_flags_set(ctx, ctx->bpf_sock_ops_cb_flags | WRITE);
			add(hinted);
		}
		a->cpu = __builtin_bswap16(h.consumer);
		return 1;
	case OPTION_LENGTH:
		if (bpf_sk_storage_get(&asked, sk, NULL, 0))
			bpf_reserve_hdr_opt(ctx, HINT_LENGTH, 0);
		return 1;
	case WRITE_OPTION:
		a = bpf_sk_storage_get(&asked, sk, NULL, 0);
		if (a)
			write(ctx, HINT_NONE, a->cpu);
		return 1;
	}
	return 1;
}

#include "hint_ip.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";
