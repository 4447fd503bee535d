package cycle

const (
	hardwareSource = Timer
	hardware       = true
)

// now reads CNTVCT_EL0, which Linux lets user programs do.
func now() uint64

// cpuNumber is not known: no register tells it to user programs.
func cpuNumber() int { return -1 }

// chain makes n additions that wait for each other, n a multiple of 64.
func chain(n int)
