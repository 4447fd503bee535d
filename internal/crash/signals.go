package crash

import (
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
)

// Sent are signals that say that a process is broken. They are caught where another process
// sends them, and end piton as SIGTERM does; a fault of its own is a panic all the same. Where
// nothing catches them, Go prints the stacks of all goroutines and exits with 2 (os/signal).
var Sent = []os.Signal{syscall.SIGABRT, syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGILL,
	syscall.SIGTRAP, syscall.SIGSYS, syscall.SIGSTKFLT}

var (
	lock    sync.Mutex
	holders int
	last    chan os.Signal // catches what nobody holds; nil before EndBySignals
)

// EndBySignals makes those signals, and SIGQUIT, end the process with 128 and their number from
// now on, without stacks, where nobody holds them. The others need no help of it.
func EndBySignals() {
	lock.Lock()
	defer lock.Unlock()
	last = make(chan os.Signal, 1)
	go func() {
		defer Handle()
		os.Exit(128 + int((<-last).(syscall.Signal)))
	}()
	catch()
}

func catch() {
	if last != nil && holders == 0 {
		signal.Notify(last, append(slices.Clone(Sent), syscall.SIGQUIT)...)
	}
}

// Hold delivers those signals and more to own until release, which may be called again.
func Hold(own chan<- os.Signal, more ...os.Signal) (release func()) {
	lock.Lock()
	defer lock.Unlock()
	holders++
	signal.Notify(own, append(slices.Clone(Sent), more...)...)
	if last != nil { // after Notify: no moment is without a handler
		signal.Stop(last)
	}
	return sync.OnceFunc(func() {
		lock.Lock()
		defer lock.Unlock()
		holders--
		catch()
		signal.Stop(own)
	})
}
