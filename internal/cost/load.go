package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// idleEnv is how cost tells a copy of itself to be load: "sleep N" or "spin".
const idleEnv = "PITON_COST_LOAD"

// longest is how long load lasts, if nobody ends it.
const longest = time.Hour

// idling plays load, if that is what this process was started for.
func idling() bool {
	what, count, _ := strings.Cut(os.Getenv(idleEnv), " ")
	end := time.Now().Add(longest)
	switch what {
	case "sleep":
		threads, _ := strconv.Atoi(count)
		for range threads - 1 {
			go func() {
				runtime.LockOSThread()
				_ = syscall.Pause()
			}()
		}
		time.Sleep(longest)
	case "spin":
		_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, 10)
		for time.Now().Before(end) {
		}
	default:
		return false
	}
	return true
}

// load starts the processes that the setting names, and returns what ends them.
func load(s setting) (stop func(), err error) {
	var started []*exec.Cmd
	stop = func() {
		for _, cmd := range started {
			_ = cmd.Process.Kill()
		}
		for _, cmd := range started {
			_ = cmd.Wait()
		}
	}
	add := func(count int, program string, args ...string) {
		for range count {
			cmd := exec.Command(program, args...)
			cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
			if len(args) == 1 { // a copy of cost
				cmd.Env, cmd.Args = append(os.Environ(), idleEnv+"="+args[0]), []string{"load"}
			}
			if err == nil {
				if err = cmd.Start(); err == nil {
					started = append(started, cmd)
				}
			}
		}
	}
	runtime.LockOSThread() // Pdeathsig is about the thread that starts them
	self, err := os.Executable()
	add(s.procs, "sleep", "3600", "0")
	if s.threads > 0 {
		add(1, self, fmt.Sprint("sleep ", s.threads))
	}
	add(s.busy, self, "spin")
	time.Sleep(time.Second + time.Duration(s.procs)*time.Millisecond/5)
	return stop, err
}
