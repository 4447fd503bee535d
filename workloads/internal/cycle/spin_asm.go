//go:build amd64 || arm64

package cycle

import "sync/atomic"

func spin(buf []Gap, floor, until uint64, stop *atomic.Uint32) (n int, end uint64) {
	return spinLoop(&buf[0], len(buf), floor, until, stop)
}

// spinLoop is the loop of Gaps between runtime·entersyscall and exitsyscall, as
// in the assembly of package syscall. most is at least 1.
//
//go:noescape
func spinLoop(buf *Gap, most int, floor, until uint64, stop *atomic.Uint32) (n int, end uint64)
