// SPDX-License-Identifier: MIT OR GPL-2.0
// Hands packets of target processes' flows to the CPU that a policy names, before the
// network stack sees them: XDP and a map of CPUs (kernel/bpf/cpumap.c).
#include "sock.h"
#include "hint.h"

enum { BPF_MAP_TYPE_PERCPU_ARRAY = 6, BPF_MAP_TYPE_CPUMAP = 16 };
enum { false, true };
enum { XDP_PASS = 2, XDP_REDIRECT = 4 };
enum { AF_INET = 2, AF_INET6 = 10, IPPROTO_TCP = 6, IPPROTO_UDP = 17 };

static u64 (*bpf_get_current_task)(void) = (void *)35;
static long (*bpf_redirect_map)(void *map, u64 key, u64 flags) = (void *)51;

enum { // Policy in steer.go
	PASS,
	CURRENT,
	REQUEST,
	CHOSEN, // of all flows: least-loaded and dedicated
	APART,
	HINT,
	HINT_BY_IP,
};

const volatile u32 policy = PASS; // the loader sets it
u32 cpus_id;                      // of the map cpus
u32 chosen;                       // how many of choices there are, for CHOSEN
u64 dropped;                      // packets for which a CPU's queue had no room

struct flow_key { // addresses of IPv4 as ::ffff:a.b.c.d, no address as ::; ports as on the wire
	u32 local[4], remote[4];
	u16 local_port, remote_port;
	u32 protocol;
};

struct flow {
	u64 task; // that read last; only ever compared and read where a fault is caught
	u32 tid;  // its number: memory of a task that ended can be another's
	u32 sent; // the CPU where a target sent last, NOWHERE
};

enum { NOWHERE = 0xffffffff };

struct { // packets of flows that are not here pass
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 32768);
	__type(key, struct flow_key);
	__type(value, struct flow);
} flows SEC(".maps");

struct { // ids of processes and threads; room for the old and the new ones at once
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, u32);
	__type(value, u8);
} targets SEC(".maps");

struct { // CPUs that flows are spread over; of APART, the CPU for each consumer's
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); // the loader sets the size
	__type(key, u32);
	__type(value, u32);
} choices SEC(".maps");

struct { // the value is the length of a CPU's queue, packets
	__uint(type, BPF_MAP_TYPE_CPUMAP);
	__uint(max_entries, 1); // the loader sets the size
	__type(key, u32);
	__type(value, u32);
} cpus SEC(".maps");

struct packets { // packetCounts in steer.go
	u64 redirected, stayed, passed;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct packets);
} counts SEC(".maps");

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pt_regs { // of x86
	unsigned long di;
};

#pragma clang attribute pop

struct xdp_md { // include/uapi/linux/bpf.h
	u32 data, data_end, data_meta;
};

INLINE void mapped(u32 *address, u32 v4)
{
	address[0] = address[1] = 0;
	address[2] = v4 ? 0xffff0000 : 0;
	address[3] = v4;
}

// A socket of a tracepoint with types can be read like memory, another has to be copied from.
#define READ(into, field)                                                  \
	do {                                                               \
		if (typed)                                                 \
			(into) = (field);                                  \
		else                                                       \
			bpf_probe_read_kernel(&(into), sizeof(into), &(field)); \
	} while (0)

INLINE bool key_of(struct flow_key *key, struct sock *sk, bool typed)
{
	struct sock_common *c = &sk->__sk_common;
	u16 family = 0, protocol = 0, port = 0;

	READ(family, c->skc_family);
	READ(protocol, sk->sk_protocol);
	if (protocol != IPPROTO_TCP && protocol != IPPROTO_UDP)
		return false;
	key->protocol = protocol;
	READ(port, c->skc_num);
	key->local_port = __builtin_bswap16(port);
	READ(port, c->skc_dport);
	key->remote_port = port;
	if (family == AF_INET) {
		u32 local = 0, remote = 0;

		READ(local, c->skc_rcv_saddr);
		READ(remote, c->skc_daddr);
		mapped(key->local, local);
		mapped(key->remote, remote);
		return true;
	}
	if (family != AF_INET6 || !field_exists(c->skc_v6_daddr))
		return false;
#pragma unroll
	for (int i = 0; i < 4; i++) {
		READ(key->local[i], c->skc_v6_rcv_saddr.in6_u.u6_addr32[i]);
		READ(key->remote[i], c->skc_v6_daddr.in6_u.u6_addr32[i]);
	}
	return true;
}

// learn notes which thread reads or writes a flow, and from which CPU.
INLINE void learn(struct sock *sk, bool sends, bool typed)
{
	u64 id = bpf_get_current_pid_tgid();
	u32 tid = id, tgid = id >> 32;
	struct flow_key key = {};

	if (!bpf_map_lookup_elem(&targets, &tgid) && !bpf_map_lookup_elem(&targets, &tid))
		return;
	if (!key_of(&key, sk, typed))
		return;
	u32 cpu = sends ? bpf_get_smp_processor_id() : NOWHERE;
	struct flow *f = bpf_map_lookup_elem(&flows, &key);
	if (!f) {
		struct flow first = { bpf_get_current_task(), tid, cpu };
		bpf_map_update_elem(&flows, &key, &first, BPF_ANY);
		return;
	}
	if (sends) {
		if (f->sent != cpu)
			f->sent = cpu;
	} else if (f->tid != tid) {
		f->task = bpf_get_current_task();
		f->tid = tid;
	}
}

// Reads and writes of sockets, Linux 6.3.
SEC("tp_btf/sock_recv_length")
int steer_read(u64 *ctx)
{
	if ((int)ctx[1] > 0)
		learn((struct sock *)ctx[0], false, true);
	return 0;
}

SEC("tp_btf/sock_send_length")
int steer_send(u64 *ctx)
{
	if ((int)ctx[1] > 0)
		learn((struct sock *)ctx[0], true, true);
	return 0;
}

// Their functions, for older kernels: tcp_recvmsg and the like.
SEC("kprobe/recvmsg")
int steer_recvmsg(struct pt_regs *ctx)
{
	learn((struct sock *)ctx->di, false, false);
	return 0;
}

SEC("kprobe/sendmsg")
int steer_sendmsg(struct pt_regs *ctx)
{
	learn((struct sock *)ctx->di, true, false);
	return 0;
}

// parse finds the flow of a packet and returns its TCP or UDP header, NULL if it is no
// whole packet of these.
INLINE const u8 *parse(const u8 *data, const u8 *end, struct flow_key *key)
{
	const u8 *next;

	if (data + 14 + 20 > end)
		return NULL;
	const u8 *ip = data + 14;
	switch (*(u16 *)(data + 12)) {
	case 0x0008: // IPv4
		if (*(u16 *)(ip + 6) & 0xff3f) // a fragment
			return NULL;
		key->protocol = ip[9];
		mapped(key->remote, *(u32 *)(ip + 12));
		mapped(key->local, *(u32 *)(ip + 16));
		next = ip + (ip[0] & 0x0f) * 4;
		break;
	case 0xdd86: // IPv6
		if (ip + 40 > end)
			return NULL;
		key->protocol = ip[6];
		__builtin_memcpy(key->remote, ip + 8, 16);
		__builtin_memcpy(key->local, ip + 24, 16);
		next = ip + 40;
		break;
	default:
		return NULL;
	}
	u32 least = key->protocol == IPPROTO_TCP ? 20 : 8;
	if (key->protocol != IPPROTO_TCP && key->protocol != IPPROTO_UDP)
		return NULL;
	if (next + 20 > end && (least == 20 || next + 8 > end))
		return NULL;
	key->remote_port = *(u16 *)next;
	key->local_port = *(u16 *)(next + 2);
	return next;
}

INLINE struct flow *find(struct flow_key *key)
{
	struct flow *f = bpf_map_lookup_elem(&flows, key);
	if (f || key->protocol != IPPROTO_UDP)
		return f;
	mapped(key->remote, 0); // a socket that is not connected
	key->remote_port = 0;
	f = bpf_map_lookup_elem(&flows, key);
	if (f)
		return f;
	mapped(key->local, 0);
	return bpf_map_lookup_elem(&flows, key);
}

// cpu_of is the CPU of the thread that reads a flow, NOWHERE if it has ended.
INLINE u32 cpu_of(const struct flow *f)
{
	struct task_struct *t = (void *)f->task;
	u32 tid = 0, cpu = 0;

	if (bpf_probe_read_kernel(&tid, sizeof(tid), &t->pid) || tid != f->tid)
		return NOWHERE;
	if (field_exists(t->thread_info.cpu))
		bpf_probe_read_kernel(&cpu, sizeof(cpu), &t->thread_info.cpu);
	else
		bpf_probe_read_kernel(&cpu, sizeof(cpu), &((struct task_struct___old *)t)->cpu);
	return cpu;
}

// choose names the CPU for a packet, NOWHERE where it is to go its own way.
INLINE u32 choose(const u8 *data, const u8 *end)
{
	struct flow_key key = {};
	const u8 *header = parse(data, end, &key);
	u32 ports = (u32)key.remote_port << 16 | key.local_port, *choice, at;

	if (!header)
		return NOWHERE;
	if (policy == HINT) {
		if (key.protocol != IPPROTO_TCP || header + 20 > end)
			return NOWHERE;
		u32 cpu = hint_echo(header, end);
		return cpu == HINT_NONE ? NOWHERE : cpu;
	}
	if (policy == HINT_BY_IP) {
		u32 cpu = data + 14 + 24 > end ? HINT_NONE : hint_ip(data + 14);
		return cpu == HINT_NONE ? NOWHERE : cpu;
	}
	struct flow *f = find(&key);
	if (!f)
		return NOWHERE;
	switch (policy) {
	case CURRENT:
		return cpu_of(f);
	case REQUEST:
		return f->sent;
	case APART:
		at = cpu_of(f);
		break;
	default: {
		u32 n = chosen;
		if (!n)
			return NOWHERE;
		at = ((u64)(ports * 2654435761u) * n) >> 32; // Knuth's multiplicative hash
	}
	}
	choice = bpf_map_lookup_elem(&choices, &at);
	return choice ? *choice : NOWHERE;
}

SEC("xdp")
int steer_packet(struct xdp_md *ctx)
{
	u32 zero = 0, cpu = NOWHERE;
	struct packets *n = bpf_map_lookup_elem(&counts, &zero);

	if (policy != PASS)
		cpu = choose((void *)(long)ctx->data, (void *)(long)ctx->data_end);
	if (!n)
		return XDP_PASS;
	if (cpu == bpf_get_smp_processor_id()) {
		n->stayed++;
		return XDP_PASS;
	}
	if (cpu != NOWHERE && bpf_redirect_map(&cpus, cpu, XDP_PASS) == XDP_REDIRECT) {
		n->redirected++;
		return XDP_REDIRECT;
	}
	n->passed++; // also of a CPU that is not in the map
	return XDP_PASS;
}

SEC("tp_btf/xdp_cpumap_enqueue")
int steer_enqueue(u64 *ctx)
{
	if ((u32)ctx[0] == cpus_id && (u32)ctx[2])
		count(dropped, (u32)ctx[2]);
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
