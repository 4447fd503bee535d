package change_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
	"piton/internal/kernel/kerneltest"
)

// childVar makes the test binary a child to be tuned: "idle" has four threads
// that sleep, "busy" one that spins, "storm" creates threads from threads as
// fast as it can, "blocked" has one in uninterruptible sleep. A child ends when its standard input does, and at the latest
// after childLife.
const (
	childVar  = "PITON_CHANGE_TEST_CHILD"
	childLife = 5 * time.Minute
)

func TestMain(m *testing.M) {
	if mode := os.Getenv(childVar); mode != "" {
		time.AfterFunc(childLife, func() { os.Exit(1) })
		child(mode)
		return
	}
	os.Exit(m.Run())
}

var spins uint64

func child(mode string) {
	switch mode {
	case "idle":
		ready := make(chan bool)
		for range 4 {
			go thread(func() { ready <- true; select {} })
			<-ready
		}
	case "busy":
		spinning := make(chan bool)
		go thread(func() {
			close(spinning)
			for {
				spins++
			}
		})
		<-spinning
	case "storm":
		for range 3 {
			go thread(storm)
		}
	case "blocked":
		go thread(block)
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func thread(run func()) {
	runtime.LockOSThread()
	run()
}

// storm lives for a moment, and has a successor before it ends: every thread's
// creator is a young thread itself.
func storm() {
	time.Sleep(time.Millisecond)
	go thread(storm)
	time.Sleep(time.Millisecond)
}

// block names its thread, and waits for a child to exec or exit, which it does not for
// long: vfork(2) sleeps uninterruptibly.
func block() {
	name := [...]byte{'b', 'l', 'o', 'c', 'k', 'e', 'd', 0}
	syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_NAME, uintptr(unsafe.Pointer(&name)), 0)
	life := syscall.NsecToTimespec(int64(childLife))
	// A copy of the address space: nothing but system calls may follow in the child.
	pid, _, _ := syscall.RawSyscall6(syscall.SYS_CLONE, syscall.CLONE_VFORK|uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	if pid == 0 {
		syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0)
		syscall.RawSyscall(syscall.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&life)), 0, 0)
		syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
	}
}

// start starts a child and waits until it is ready.
func start(t *testing.T, mode string) (pid kernel.TID, end func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVar+"="+mode)
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	ended := false
	end = func() {
		if !ended {
			ended = true
			_ = stdin.Close()
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	t.Cleanup(end)
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err, "the child said %q", line)
	return kernel.TID(cmd.Process.Pid), end
}

func needRoot(t *testing.T) {
	t.Helper()
	kerneltest.NeedRoot(t, "to raise priorities")
}

// forceNext makes the next process that is created get the number pid, if it is
// free (CONFIG_CHECKPOINT_RESTORE, proc_sys_kernel(5)).
func forceNext(pid kernel.TID) error {
	f, err := os.OpenFile("/proc/sys/kernel/ns_last_pid", os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strconv.Itoa(int(pid) - 1))
	return errors.Join(err, f.Close())
}
