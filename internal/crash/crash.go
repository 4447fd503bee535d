// Package crash ends the program after a panic so that the message can be read: the
// terminal is given back first, whichever goroutine panicked. Go's own end leaves a terminal
// in raw mode and on its alternate screen. Signals of a crash that others send are no crash:
// see EndBySignals.
//
// Each goroutine of the screen, and of what the screen starts, begins with
//
//	defer crash.Handle()
package crash

import (
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Code is the exit code, as of Go's own panics.
const Code = 2

var (
	restore atomic.Pointer[func()]
	one     sync.Mutex // never given back
)

// Restore makes f be called before a panic is reported, beside whatever runs then; nil
// calls nothing.
func Restore(f func()) {
	if f == nil {
		restore.Store(nil)
		return
	}
	restore.Store(&f)
}

// Handle is deferred. If its goroutine panicked, it ends the program.
func Handle() {
	if p := recover(); p != nil {
		end(p, debug.Stack())
	}
}

// end reports a panic; of several, the first.
func end(panicked any, stack []byte) {
	one.Lock()
	if f := restore.Load(); f != nil {
		(*f)()
	}
	fmt.Fprintf(os.Stderr, "piton crashed: %v\n\n%s\nThis is a defect of piton. Please report it with the lines above.\n", panicked, stack)
	os.Exit(Code)
}
