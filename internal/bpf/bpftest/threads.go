package bpftest

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// PlayThreads is a role: it starts as many threads as there are names, which are hex so that
// they may hold anything, prints their TIDs in a line when all run, and waits for
// the end.
func PlayThreads(spin bool, names []string) error {
	// A thread without a turn of Go's scheduler would sleep and not spin; Command
	// keeps Go from taking turns away.
	runtime.GOMAXPROCS(len(names) + 2)
	tids := make(chan int)
	var run sync.WaitGroup // a thread that waits for its turn of the channel sleeps
	for _, name := range names {
		run.Add(1)
		go func() {
			runtime.LockOSThread()
			var raw []byte
			fmt.Sscanf(name, "%x", &raw)
			tid := syscall.Gettid()
			if err := os.WriteFile(fmt.Sprintf("/proc/self/task/%d/comm", tid), raw, 0); err != nil {
				tid = -1
			}
			tids <- tid
			run.Done()
			//lint:ignore SA5002 to spin is the role
			for spin {
			}
			syscall.Pause()
		}()
	}
	var line []string
	for range names {
		line = append(line, strconv.Itoa(<-tids))
	}
	run.Wait()
	fmt.Println(strings.Join(line, " "))
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}
