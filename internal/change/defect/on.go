//go:build defects

package defect

import (
	"os"
	"strconv"
)

// Variable is the environment variable that names the defect.
const Variable = "PITON_DEFECT"

var chosen, _ = strconv.Atoi(os.Getenv(Variable)) // 0, no defect, where it is not a number

// On reports whether a defect is put back.
func On(n int) bool { return n == chosen }

// Back reports whether one of them is put back.
func Back() bool { return chosen != 0 }

// Without calls f without the defect. Nothing else may run meanwhile.
func Without(f func()) {
	defer func(n int) { chosen = n }(chosen)
	chosen = 0
	f()
}
