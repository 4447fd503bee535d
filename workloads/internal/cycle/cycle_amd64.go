package cycle

const hardwareSource = TSC

// hardware reports whether the counter runs at one rate whatever the core does:
// "invariant TSC", bit 8 of EDX of CPUID leaf 0x80000007.
var hardware = invariant()

// now reads the counter. It does not wait for earlier instructions.
func now() uint64

// cpuNumber is the number that Linux keeps in TSC_AUX, as getcpu(2) of the vDSO
// reads it (vdso_read_cpunode in arch/x86/include/asm/segment.h).
func cpuNumber() int { return int(aux() & 0xfff) }

func aux() uint32

func invariant() bool

// chain makes n additions that wait for each other, n a multiple of 64.
func chain(n int)
