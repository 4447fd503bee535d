//go:build !amd64

package stream

// haveVector is false where there is no assembly; then vector is not used.
func haveVector() bool { return false }

var vector = plain
