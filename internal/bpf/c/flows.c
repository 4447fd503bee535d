// SPDX-License-Identifier: MIT OR GPL-2.0
// Counts what target processes read of each TCP and UDP flow, by the CPU that handled
// the flow's last packet and the CPU that reads.
#include "sock.h"

enum { AF_INET = 2, AF_INET6 = 10, SOCK_STREAM = 1, SOCK_DGRAM = 2, IPPROTO_TCP = 6, IPPROTO_UDP = 17, TCP_ESTABLISHED = 1 };
enum { MSG_PEEK = 0x2, MSG_ERRQUEUE = 0x2000 }; // include/linux/socket.h
enum { NO_QUEUE = 0xffff };                     // NO_QUEUE_MAPPING, include/net/sock.h

struct flow_key { // flowKey in flows.go
	u64 cookie;            // of the socket, unique since boot
	u32 tgid;
	u16 handled, consumed; // CPUs; 0xffff as handled is not known
};

struct flow { // flowValue in flows.go; what each read writes comes first, in one cache line
	u64 bytes, reads;
	u32 segments, ifindex; // tcp_sock.segs_in at the last read; ifindex 0 is not known
	u16 queue;             // of the interface, NO_QUEUE
	u16 family, protocol;
	u16 local_port, remote_port; // the latter in network order
	u16 pad[3];
	u64 start;        // start_boottime of the process
	u32 first, netns; // tcp_sock.segs_in before the first read
	u32 local[4], remote[4];
};
_Static_assert(sizeof(struct flow) == 88, "flowValue in flows.go");

struct flows {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__uint(key_size, sizeof(struct flow_key));
	__uint(value_size, sizeof(struct flow));
};

struct { // the table that is counted into; draining exchanges it
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, u32);
	__array(values, struct flows);
} tables SEC(".maps");

struct { // a bit for each possible process (PID_MAX_LIMIT): a hash would take 60 ns of each read
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << 16);
	__type(key, u32);
	__type(value, u64);
} targets SEC(".maps");

struct { // before Linux 6.3: tcp_sock.copied_seq at the last look; gone with the socket
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, u32);
} copied SEC(".maps");

u64 lost; // reads that had no room in the table, since loading
u32 only; // the one target, 0 if there are more

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct tcp_sock {
	u32 segs_in;
	u32 copied_seq, rcv_nxt;
	u64 bytes_received;
};

#pragma clang attribute pop

INLINE bool target(u32 tgid)
{
	if (only)
		return tgid == only;
	u32 word = tgid / 64;
	u64 *bits = bpf_map_lookup_elem(&targets, &word);

	return bits && *bits >> tgid % 64 & 1;
}

INLINE void describe(struct flow *f, struct sock *sk)
{
	struct sock_common *c = &sk->__sk_common;

	f->family = c->skc_family;
	f->protocol = sk->sk_protocol;
	f->local_port = c->skc_num;
	f->remote_port = c->skc_dport;
	if (field_exists(c->skc_net))
		f->netns = c->skc_net.net->ns.inum;
	if (f->family == AF_INET) {
		f->local[0] = c->skc_rcv_saddr;
		f->remote[0] = c->skc_daddr;
	} else if (field_exists(c->skc_v6_daddr)) {
#pragma unroll
		for (int i = 0; i < 4; i++) {
			f->local[i] = c->skc_v6_rcv_saddr.in6_u.u6_addr32[i];
			f->remote[i] = c->skc_v6_daddr.in6_u.u6_addr32[i];
		}
	}
}

// add counts a read; tcp is NULL for UDP.
INLINE void add(struct sock *sk, struct tcp_sock *tcp, u32 tgid, u64 bytes)
{
	struct sock_common *c = &sk->__sk_common;
	u32 zero = 0;
	struct flow_key key = {
		.cookie = c->skc_cookie.counter, .tgid = tgid,
		.handled = c->skc_incoming_cpu, .consumed = bpf_get_smp_processor_id(),
	};
	void *table = bpf_map_lookup_elem(&tables, &zero);

	if (!key.cookie) // it has none yet; a helper takes 20 ns
		key.cookie = bpf_get_socket_cookie(sk);
	if (!table)
		return;
	struct flow *f = bpf_map_lookup_elem(table, &key);
	if (!f) {
		struct task_struct *now = bpf_get_current_task_btf();
		struct flow new = { .queue = NO_QUEUE, .start = now->group_leader->start_boottime };
		describe(&new, sk);
		// Read since the connection began; it is no more than this where this is the first read.
		if (tcp && tcp->bytes_received - (u32)(tcp->rcv_nxt - tcp->copied_seq) > bytes)
			new.first = tcp->segs_in;
		bpf_map_update_elem(table, &key, &new, BPF_NOEXIST);
		f = bpf_map_lookup_elem(table, &key);
		if (!f) {
			count(lost, 1);
			return;
		}
	}
	count(f->bytes, bytes);
	count(f->reads, 1);
	if (tcp)
		f->segments = tcp->segs_in;
	f->ifindex = c->skc_bound_dev_if;
	if (field_exists(sk->sk_rx_dst_ifindex) && sk->sk_rx_dst_ifindex)
		f->ifindex = sk->sk_rx_dst_ifindex;
	if (field_exists(c->skc_rx_queue_mapping))
		f->queue = c->skc_rx_queue_mapping;
}

INLINE bool internet(struct sock *sk)
{
	u16 family = sk->__sk_common.skc_family;
	return family == AF_INET || family == AF_INET6;
}

// At the end of each read of a socket (Linux 6.3).
SEC("tp_btf/sock_recv_length")
int flows_read(u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	int bytes = ctx[1], flags = ctx[2];
	u32 tgid = bpf_get_current_pid_tgid() >> 32;

	if (bytes <= 0 || flags & (MSG_PEEK | MSG_ERRQUEUE) || !target(tgid) || !internet(sk))
		return 0;
	if (sk->sk_protocol == IPPROTO_TCP && sk->sk_type == SOCK_STREAM)
		add(sk, bpf_rdonly_cast(sk, kernel_type_id(struct tcp_sock)), tgid, bytes);
	else if (sk->sk_protocol == IPPROTO_UDP && sk->sk_type == SOCK_DGRAM)
		add(sk, NULL, tgid, bytes);
	return 0;
}

// With flows_read, which splice(2) goes past.
SEC("fexit/tcp_splice_read")
int flows_spliced(u64 *ctx)
{
	struct sock *sk = ((struct socket *)ctx[0])->sk;
	long long bytes = ctx[5];
	u32 tgid = bpf_get_current_pid_tgid() >> 32;

	if (bytes <= 0 || !sk || !target(tgid))
		return 0;
	struct tcp_sock *tcp = bpf_skc_to_tcp_sock(sk);
	if (tcp)
		add(sk, tcp, tgid, bytes);
	return 0;
}

// For older kernels, of TCP: after each packet that a read has copied.
SEC("tp_btf/tcp_rcv_space_adjust")
int flows_adjust(u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	u32 tgid = bpf_get_current_pid_tgid() >> 32;

	if (!internet(sk))
		return 0;
	struct tcp_sock *tcp = bpf_skc_to_tcp_sock(sk);
	if (!tcp)
		return 0;
	bool counted = target(tgid);
	u32 now = tcp->copied_seq;
	u32 *before = bpf_sk_storage_get(&copied, sk, &now, counted ? BPF_SK_STORAGE_GET_F_CREATE : 0);
	if (!before || *before == now) // the first look at it, or a peek
		return 0;
	u32 bytes = now - *before; // the reader holds the socket's lock
	*before = now;
	if (counted)
		add(sk, tcp, tgid, bytes);
	return 0;
}

// With flows_adjust: connections that begin are known from the first byte.
SEC("tp_btf/inet_sock_set_state")
int flows_connected(u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];

	if ((int)ctx[2] != TCP_ESTABLISHED || !internet(sk))
		return 0;
	struct tcp_sock *tcp = bpf_skc_to_tcp_sock(sk);
	if (!tcp)
		return 0;
	u32 now = tcp->copied_seq;
	bpf_sk_storage_get(&copied, sk, &now, BPF_SK_STORAGE_GET_F_CREATE);
	return 0;
}

// With flows_adjust, of UDP: at the end of a read; below 0 are peeks (udp_recvmsg of net/ipv4/udp.c).
SEC("fentry/skb_consume_udp")
int flows_datagram(u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	int bytes = ctx[2];
	u32 tgid = bpf_get_current_pid_tgid() >> 32;

	if (bytes > 0 && target(tgid) && internet(sk))
		add(sk, NULL, tgid, bytes);
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
