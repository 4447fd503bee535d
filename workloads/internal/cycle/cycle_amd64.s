#include "textflag.h"

// func now() uint64
TEXT ·now(SB), NOSPLIT, $0-8
	RDTSC
	SHLQ $32, DX
	ORQ  DX, AX
	MOVQ AX, ret+0(FP)
	RET

// func aux() uint32
TEXT ·aux(SB), NOSPLIT, $0-4
	RDTSCP
	MOVL CX, ret+0(FP)
	RET

// func invariant() bool
TEXT ·invariant(SB), NOSPLIT, $0-1
	MOVB $0, ret+0(FP)
	MOVL $0x80000000, AX
	CPUID
	CMPL AX, $0x80000007
	JB   done
	MOVL $0x80000007, AX
	CPUID
	SHRL $8, DX
	ANDL $1, DX
	MOVB DX, ret+0(FP)

done:
	RET

#define FOUR ADDQ BX, AX; ADDQ BX, AX; ADDQ BX, AX; ADDQ BX, AX
#define SIXTEEN FOUR; FOUR; FOUR; FOUR

// func chain(n int)
TEXT ·chain(SB), NOSPLIT, $0-8
	MOVQ n+0(FP), CX
	XORQ AX, AX
	MOVQ $1, BX

turn:
	SIXTEEN
	SIXTEEN
	SIXTEEN
	SIXTEEN
	SUBQ $64, CX
	JA   turn
	RET
