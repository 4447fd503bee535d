// SPDX-License-Identifier: MIT OR GPL-2.0
// The kernel's sockets, as kernel.h has its tasks.
#pragma once
#include "kernel.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct in6_addr {
	union {
		u32 u6_addr32[4];
	} in6_u;
};

struct ns_common {
	u32 inum;
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net;
} possible_net_t;

typedef struct {
	long long counter;
} atomic64_t;

struct sock_common {
	u32 skc_daddr, skc_rcv_saddr;
	u16 skc_dport, skc_num;
	u16 skc_family;
	possible_net_t skc_net; // CONFIG_NET_NS
	struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr; // CONFIG_IPV6
	u16 skc_rx_queue_mapping; // CONFIG_SOCK_RX_QUEUE_MAPPING
	int skc_incoming_cpu;
	int skc_bound_dev_if;
	atomic64_t skc_cookie; // 0 until somebody asks for it
};

typedef struct {
	int owned;
} socket_lock_t;

struct sock {
	struct sock_common __sk_common;
	socket_lock_t sk_lock;
	u16 sk_type, sk_protocol;
	int sk_rx_dst_ifindex; // of TCP; Linux 5.16
};

struct socket {
	struct sock *sk;
};

#pragma clang attribute pop
