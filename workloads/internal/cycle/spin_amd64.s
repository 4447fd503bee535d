#include "textflag.h"

// func spinLoop(buf *Gap, most int, floor, until uint64, stop *atomic.Uint32) (n int, end uint64)
TEXT ·spinLoop(SB), NOSPLIT, $0-56
	CALL runtime·entersyscall(SB)
	MOVQ buf+0(FP), DI
	MOVQ most+8(FP), SI
	MOVQ floor+16(FP), R8
	MOVQ until+24(FP), R9
	MOVQ stop+32(FP), R10
	XORQ R11, R11 // gaps so far
	RDTSC
	SHLQ $32, DX
	ORQ  DX, AX
	MOVQ AX, R12  // last reading

turn:
	RDTSC
	SHLQ $32, DX
	ORQ  DX, AX
	MOVQ AX, BX
	SUBQ R12, BX
	CMPQ BX, R8
	JA   gap

next:
	MOVQ AX, R12
	CMPQ AX, R9
	JAE  done
	CMPL (R10), $0
	JEQ  turn
	JMP  done

gap:
	MOVQ R12, 0(DI)
	MOVQ AX, 8(DI)
	MOVQ AX, R13
	RDTSCP           // CX: the CPU, see cpuNumber
	MOVQ R13, AX
	ANDQ $0xfff, CX
	MOVQ CX, 16(DI)
	ADDQ $24, DI
	INCQ R11
	CMPQ R11, SI
	JB   next
	MOVQ AX, R12

done:
	MOVQ R11, n+40(FP)
	MOVQ R12, end+48(FP)
	CALL runtime·exitsyscall(SB)
	RET
