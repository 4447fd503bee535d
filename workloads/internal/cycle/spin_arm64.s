#include "textflag.h"

// func spinLoop(buf *Gap, most int, floor, until uint64, stop *atomic.Uint32) (n int, end uint64)
TEXT ·spinLoop(SB), NOSPLIT, $0-56
	BL   runtime·entersyscall(SB)
	MOVD buf+0(FP), R0
	MOVD most+8(FP), R1
	MOVD floor+16(FP), R2
	MOVD until+24(FP), R3
	MOVD stop+32(FP), R4
	MOVD $0, R5         // gaps so far
	MOVD $-1, R9
	MRS  CNTVCT_EL0, R6 // last reading

turn:
	MRS  CNTVCT_EL0, R7
	SUB  R6, R7, R8
	CMP  R2, R8
	BHI  gap

next:
	MOVD R7, R6
	CMP  R3, R7
	BHS  done
	MOVWU (R4), R8
	CBZ  R8, turn
	B    done

gap:
	MOVD R6, 0(R0)
	MOVD R7, 8(R0)
	MOVD R9, 16(R0)
	ADD  $24, R0
	ADD  $1, R5
	CMP  R1, R5
	BLO  next
	MOVD R7, R6

done:
	MOVD R5, n+40(FP)
	MOVD R6, end+48(FP)
	BL   runtime·exitsyscall(SB)
	RET
