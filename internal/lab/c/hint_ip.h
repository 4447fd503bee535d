// SPDX-License-Identifier: MIT OR GPL-2.0
// The hint as an option of IPv4: programs of the interfaces, of both sides. Which sockets
// take part the programs of the cgroup say.

// tcp_of is the TCP header of a packet of IPv4 whose IP header has this many bytes, NULL of
// another one.
INLINE u8 *tcp_of(struct __sk_buff *skb, u32 header)
{
	u8 *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end, *ip = data + 14, *tcp = ip + header;

	if (tcp + 20 > end || *(u16 *)(data + 12) != 0x0008 || ip[0] != (0x40 | header / 4) || ip[9] != IPPROTO_TCP)
		return NULL;
	return *(u16 *)(ip + 6) & 0xff3f ? NULL : tcp; // a fragment
}

// insert puts the option behind the IP header. A packet that would be too large for the
// interface stays as it is.
INLINE bool insert(struct __sk_buff *skb, u32 cpu)
{
	u8 *tcp = tcp_of(skb, 20);
	if (!tcp || tcp[13] & 2) // SYN
		return false;
	u16 total = __builtin_bswap16(*(u16 *)(tcp - 18));
	u32 segment = skb->gso_size + 20 + (tcp[12] >> 4) * 4 + HINT_IP_LENGTH;
	union {
		u8 bytes[24];
		u16 words[12];
	} ip;

	if (!total || total > 0xffff - HINT_IP_LENGTH)
		return false;
	__builtin_memcpy(ip.bytes, tcp - 20, 20);
	if (bpf_skb_adjust_room(skb, HINT_IP_LENGTH, BPF_ADJ_ROOM_NET, segment <= mtu ? BPF_F_ADJ_ROOM_FIXED_GSO : 0))
		return false;
	ip.bytes[0] = 0x46;
	ip.words[1] = __builtin_bswap16(total + HINT_IP_LENGTH);
	ip.words[5] = 0;
	ip.bytes[20] = HINT_IP | cpu;
	ip.bytes[21] = 2;
	ip.words[11] = 0;
	u32 sum = 0;
#pragma unroll
	for (int i = 0; i < 12; i++)
		sum += ip.words[i];
	sum = (sum & 0xffff) + (sum >> 16);
	ip.words[5] = ~(sum + (sum >> 16));
	return !bpf_skb_store_bytes(skb, 14, ip.bytes, sizeof(ip), 0);
}

SEC("tcx/egress")
int hint_insert(struct __sk_buff *skb)
{
	struct bpf_sock *sk = skb->sk;
	u32 cpu = HINT_NONE;

	if (!sk)
		return TCX_NEXT;
	struct asking *a = bpf_sk_storage_get(&asking, sk, NULL, 0);
	if (a) {
		follow(a, sk);
		cpu = a->cpu;
	} else {
		struct asked *b = bpf_sk_storage_get(&asked, sk, NULL, 0);
		if (b)
			cpu = b->cpu;
	}
	if (cpu < HINT_IP_CPUS && insert(skb, cpu))
		add(written);
	return TCX_NEXT;
}

SEC("tcx/ingress")
int hint_learn(struct __sk_buff *skb)
{
	u8 *tcp = tcp_of(skb, 24);
	if (!tcp)
		return TCX_NEXT;
	u8 *ip = tcp - 24;
	u32 cpu = hint_ip(ip), sequence = __builtin_bswap32(*(u32 *)(tcp + 4));
	if (cpu == HINT_NONE)
		return TCX_NEXT;
	struct bpf_sock_tuple flow = {*(u32 *)(ip + 12), *(u32 *)(ip + 16), *(u16 *)tcp, *(u16 *)(tcp + 2)};
	struct bpf_sock *sk = bpf_sk_lookup_tcp(skb, &flow, sizeof(flow), -1, 0); // of this network namespace
	if (!sk)
		return TCX_NEXT;
	struct bpf_tcp_sock *t = bpf_tcp_sock(sk);
	struct asking *a = bpf_sk_storage_get(&asking, sk, NULL, 0);
	struct asked *b = bpf_sk_storage_get(&asked, sk, NULL, 0);
	if (a && !a->answered) {
		a->answered = 1;
		add(hinted);
	}
	if (b && t && !before(sequence, t->rcv_nxt)) {
		if (b->cpu == HINT_NONE)
			add(hinted);
		b->cpu = cpu;
	}
	bpf_sk_release(sk);
	return TCX_NEXT;
}
