package kernel_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"piton/internal/kernel"
)

// helperVar makes the test binary a child that waits to be tuned, and ends by
// itself when its standard input closes or after a bounded time.
const helperVar = "PITON_KERNEL_TEST_CHILD"

// init keeps the child's main goroutine on its first thread, so that the other one
// is another.
func init() {
	if os.Getenv(helperVar) != "" {
		runtime.LockOSThread()
	}
}

func TestMain(m *testing.M) {
	if os.Getenv(helperVar) != "" {
		child()
		return
	}
	if os.Getenv(execVar) != "" {
		becomeGrep()
	}
	if os.Getenv(hugeVar) != "" {
		println(playHugePages().Error())
		os.Exit(1)
	}
	if os.Getenv(privilegeVar) != "" {
		if err := playPrivileges(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("PASS")
		return
	}
	os.Exit(m.Run())
}

func child() {
	tid := make(chan int)
	go func() {
		runtime.LockOSThread()
		tid <- gettid()
		select {}
	}()
	fmt.Println(<-tid)
	time.AfterFunc(5*time.Minute, func() { os.Exit(1) })
	_, _ = os.Stdin.Read(make([]byte, 1))
}

// startChild returns the child's PID and the TID of one of its other threads.
func startChild(t *testing.T) (pid, tid kernel.TID) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), helperVar+"=1")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	if _, err := fmt.Fscan(stdout, &tid); err != nil {
		t.Fatal(err)
	}
	return kernel.TID(cmd.Process.Pid), tid
}
