#include "textflag.h"

// func now() uint64
TEXT ·now(SB), NOSPLIT, $0-8
	MRS  CNTVCT_EL0, R0
	MOVD R0, ret+0(FP)
	RET

#define FOUR ADD R1, R0, R0; ADD R1, R0, R0; ADD R1, R0, R0; ADD R1, R0, R0
#define SIXTEEN FOUR; FOUR; FOUR; FOUR

// func chain(n int)
TEXT ·chain(SB), NOSPLIT, $0-8
	MOVD n+0(FP), R2
	MOVD $0, R0
	MOVD $1, R1

turn:
	SIXTEEN
	SIXTEEN
	SIXTEEN
	SIXTEEN
	SUBS $64, R2
	BGT  turn
	RET
