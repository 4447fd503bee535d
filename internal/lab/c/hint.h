// SPDX-License-Identifier: MIT OR GPL-2.0
// The hint: a TCP option by which a receiver asks for the CPU that shall process what is
// sent to it. The client's packets carry the CPU of its consumer; the server's carry it
// back as the echo, by which the client's machine can steer them. Values are in network
// byte order. Kernels that do not know the option skip it (RFC 9293, 3.1).
#pragma once
#include "bpf.h"

enum {
	HINT_KIND = 253,     // of experiments, told apart by the number that follows (RFC 6994)
	HINT_LENGTH = 8,     // a multiple of 4: Linux pads what a program reserves to that
	HINT_ID = 0x5069,    // "Pi"
	HINT_NONE = 0xffff,  // in the place of a CPU
	HINT_HEAD = 0x695008fd, // kind, length and number as a little-endian word
};

struct hint { // wireHint in hint_test.go
	u8 kind, length;
	u16 id;
	u16 consumer; // CPU of the sender's consumer
	u16 echo;     // CPU of the receiver's consumer, as the receiver said last
};
_Static_assert(sizeof(struct hint) == HINT_LENGTH, "one option");

// hint_echo is the CPU that a packet asks for, HINT_NONE without one. tcp is the packet's
// TCP header, of which the first 20 bytes are known to be before data_end (XDP, TC).
// Linux writes the option at a multiple of 4 bytes, behind time stamps.
INLINE u32 hint_echo(const u8 *tcp, const void *data_end)
{
	u32 length = (tcp[12] >> 4) * 4;
	bool stamped = tcp + 24 <= (u8 *)data_end && *(u32 *)(tcp + 20) == 0x0a080101; // NOP NOP TS 10

#pragma unroll
	for (u32 at = 20; at <= 60 - HINT_LENGTH; at += 4) {
		const struct hint *h = (void *)(tcp + at);

		if (at + HINT_LENGTH > length || (void *)(h + 1) > data_end)
			break;
		if (stamped && at < 32)
			continue;
		if (*(u32 *)h == HINT_HEAD)
			return __builtin_bswap16(h->echo);
	}
	return HINT_NONE;
}

enum { // the option of IPv4: class 1, copied into fragments, five bits of CPU
	HINT_IP = 0xa0,
	HINT_IP_LENGTH = 4, // 2, and 2 of padding
	HINT_IP_CPUS = 32,
};

// hint_ip is the CPU in an IPv4 header, HINT_NONE without one. 24 bytes of it are before
// the packet's end. A header with more options is none of ours.
INLINE u32 hint_ip(const u8 *ip)
{
	return ip[0] == 0x46 && (ip[20] & 0xe0) == HINT_IP && ip[21] == 2 ? ip[20] & 31 : HINT_NONE;
}
