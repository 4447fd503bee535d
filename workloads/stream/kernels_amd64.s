#include "textflag.h"

// Each turn takes 16 doubles: four registers of four. The multiplication is not
// fused with the addition, so that results are those of the loops in Go.

// func copyAVX2(dst, src *float64, n int)
TEXT ·copyAVX2(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	SHLQ $3, CX
	XORQ AX, AX

turn:
	VMOVUPD  (SI)(AX*1), Y0
	VMOVUPD  32(SI)(AX*1), Y1
	VMOVUPD  64(SI)(AX*1), Y2
	VMOVUPD  96(SI)(AX*1), Y3
	VMOVNTPD Y0, (DI)(AX*1)
	VMOVNTPD Y1, 32(DI)(AX*1)
	VMOVNTPD Y2, 64(DI)(AX*1)
	VMOVNTPD Y3, 96(DI)(AX*1)
	ADDQ     $128, AX
	CMPQ     AX, CX
	JB       turn
	SFENCE
	VZEROUPPER
	RET

// func scaleAVX2(dst, src *float64, s float64, n int)
TEXT ·scaleAVX2(SB), NOSPLIT, $0-32
	MOVQ         dst+0(FP), DI
	MOVQ         src+8(FP), SI
	VBROADCASTSD s+16(FP), Y15
	MOVQ         n+24(FP), CX
	SHLQ         $3, CX
	XORQ         AX, AX

turn:
	VMULPD   (SI)(AX*1), Y15, Y0
	VMULPD   32(SI)(AX*1), Y15, Y1
	VMULPD   64(SI)(AX*1), Y15, Y2
	VMULPD   96(SI)(AX*1), Y15, Y3
	VMOVNTPD Y0, (DI)(AX*1)
	VMOVNTPD Y1, 32(DI)(AX*1)
	VMOVNTPD Y2, 64(DI)(AX*1)
	VMOVNTPD Y3, 96(DI)(AX*1)
	ADDQ     $128, AX
	CMPQ     AX, CX
	JB       turn
	SFENCE
	VZEROUPPER
	RET

// func addAVX2(dst, a, b *float64, n int)
TEXT ·addAVX2(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ b+16(FP), DX
	MOVQ n+24(FP), CX
	SHLQ $3, CX
	XORQ AX, AX

turn:
	VMOVUPD  (SI)(AX*1), Y0
	VMOVUPD  32(SI)(AX*1), Y1
	VMOVUPD  64(SI)(AX*1), Y2
	VMOVUPD  96(SI)(AX*1), Y3
	VADDPD   (DX)(AX*1), Y0, Y0
	VADDPD   32(DX)(AX*1), Y1, Y1
	VADDPD   64(DX)(AX*1), Y2, Y2
	VADDPD   96(DX)(AX*1), Y3, Y3
	VMOVNTPD Y0, (DI)(AX*1)
	VMOVNTPD Y1, 32(DI)(AX*1)
	VMOVNTPD Y2, 64(DI)(AX*1)
	VMOVNTPD Y3, 96(DI)(AX*1)
	ADDQ     $128, AX
	CMPQ     AX, CX
	JB       turn
	SFENCE
	VZEROUPPER
	RET

// func triadAVX2(dst, a, b *float64, s float64, n int)
TEXT ·triadAVX2(SB), NOSPLIT, $0-40
	MOVQ         dst+0(FP), DI
	MOVQ         a+8(FP), SI
	MOVQ         b+16(FP), DX
	VBROADCASTSD s+24(FP), Y15
	MOVQ         n+32(FP), CX
	SHLQ         $3, CX
	XORQ         AX, AX

turn:
	VMULPD   (DX)(AX*1), Y15, Y0
	VMULPD   32(DX)(AX*1), Y15, Y1
	VMULPD   64(DX)(AX*1), Y15, Y2
	VMULPD   96(DX)(AX*1), Y15, Y3
	VADDPD   (SI)(AX*1), Y0, Y0
	VADDPD   32(SI)(AX*1), Y1, Y1
	VADDPD   64(SI)(AX*1), Y2, Y2
	VADDPD   96(SI)(AX*1), Y3, Y3
	VMOVNTPD Y0, (DI)(AX*1)
	VMOVNTPD Y1, 32(DI)(AX*1)
	VMOVNTPD Y2, 64(DI)(AX*1)
	VMOVNTPD Y3, 96(DI)(AX*1)
	ADDQ     $128, AX
	CMPQ     AX, CX
	JB       turn
	SFENCE
	VZEROUPPER
	RET
