package child

import (
	"runtime"
	"runtime/debug"
)

// ThreadRoom makes room in Go's scheduler for so many threads that wait inside the
// kernel unknown to it (kernel.BlockingRead), turns the garbage collector off, since
// nothing may stop them, and returns what restores both.
//
// Such a thread keeps its P, and with it goroutines that it has just made
// runnable; others must steal them. Go wakes a thread to steal only while there
// is an idle P, and as many threads as there are busy Ps less their own may hold
// one to look for work. So with two Ps for each thread, and some for all other
// goroutines, there is always an idle one. With one for each, a start of 40
// threads hung in about one of 200 runs.
func ThreadRoom(threads int) (restore func()) {
	const others = 16
	collect, procs := debug.SetGCPercent(-1), runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(max(procs, 2*threads+others))
	return func() {
		runtime.GOMAXPROCS(procs)
		debug.SetGCPercent(collect)
	}
}
