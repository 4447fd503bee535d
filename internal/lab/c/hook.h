// SPDX-License-Identifier: MIT OR GPL-2.0
// What programs of a cgroup's sockets and of an interface's packets are called with.
#pragma once
#include "bpf.h"

enum { // bpf_sock_ops.op (include/uapi/linux/bpf.h)
	CONNECT = 3,
	ACTIVE_ESTABLISHED = 4,
	PASSIVE_ESTABLISHED = 5,
	PARSE_OPTION = 13,
	OPTION_LENGTH = 14,
	WRITE_OPTION = 15,
};

enum { // bpf_sock_ops.bpf_sock_ops_cb_flags
	PARSE_UNKNOWN = 1 << 5,
	WRITE = 1 << 6,
};

struct bpf_sock;

struct bpf_sock_ops { // to its last field, as in include/uapi/linux/bpf.h
	u32 op, args[4], family, remote_ip4, local_ip4, remote_ip6[4], local_ip6[4], remote_port, local_port;
	u32 is_fullsock, snd_cwnd, srtt_us, bpf_sock_ops_cb_flags, state, rtt_min, snd_ssthresh, rcv_nxt, snd_nxt, snd_una;
	u32 mss_cache, ecn_flags, rate_delivered, rate_interval_us, packets_out, retrans_out, total_retrans;
	u32 segs_in, data_segs_in, segs_out, data_segs_out, lost_out, sacked_out, sk_txhash;
	u64 bytes_received, bytes_acked;
	struct bpf_sock *sk;
	void *skb_data, *skb_data_end;
	u32 skb_len, skb_tcp_flags;
};

static long (*bpf_sock_ops_cb_flags_set)(struct bpf_sock_ops *ctx, int flags) = (void *)59;
static u64 (*bpf_get_current_task)(void) = (void *)35;
static long (*bpf_load_hdr_opt)(struct bpf_sock_ops *ctx, void *option, u32 len, u64 flags) = (void *)142;
static long (*bpf_store_hdr_opt)(struct bpf_sock_ops *ctx, const void *option, u32 len, u64 flags) = (void *)143;
static long (*bpf_reserve_hdr_opt)(struct bpf_sock_ops *ctx, u32 len, u64 flags) = (void *)144;

struct __sk_buff { // to gso_size, as in include/uapi/linux/bpf.h
	u32 len, pkt_type, mark, queue_mapping, protocol, vlan_present, vlan_tci, vlan_proto, priority, ingress_ifindex;
	u32 ifindex, tc_index, cb[5], hash, tc_classid, data, data_end, napi_id, family, remote_ip4, local_ip4;
	u32 remote_ip6[4], local_ip6[4], remote_port, local_port, data_meta;
	u64 flow_keys, tstamp;
	u32 wire_len, gso_segs;
	struct bpf_sock *sk;
	u32 gso_size;
};

struct bpf_sock_tuple { // of IPv4, as on the wire
	u32 saddr, daddr;
	u16 sport, dport;
};

struct bpf_tcp_sock { // to rcv_nxt
	u32 snd_cwnd, srtt_us, rtt_min, snd_ssthresh, rcv_nxt;
};

enum { false, true };
enum { TCX_NEXT = -1 };
enum { BPF_ADJ_ROOM_NET = 0, BPF_F_ADJ_ROOM_FIXED_GSO = 1 };
enum { IPPROTO_TCP = 6, TCP_MAXSEG = 2 };

static long (*bpf_skb_store_bytes)(struct __sk_buff *skb, u32 at, const void *from, u32 len, u64 flags) = (void *)9;
static long (*bpf_setsockopt)(void *ctx, int level, int name, void *value, int len) = (void *)49;
static long (*bpf_skb_adjust_room)(struct __sk_buff *skb, s32 len, u32 mode, u64 flags) = (void *)50;
static struct bpf_sock *(*bpf_sk_lookup_tcp)(void *ctx, struct bpf_sock_tuple *tuple, u32 size, u64 netns, u64 flags) = (void *)84;
static long (*bpf_sk_release)(void *sk) = (void *)86;
static struct bpf_tcp_sock *(*bpf_tcp_sock)(struct bpf_sock *sk) = (void *)96;
