package cli

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
	"piton/internal/procfs"
)

// threadsRole makes the test binary a process that creates threads as fast as it can as it
// starts.
const threadsRole = "PITON_TEST_THREADS"

// playThreads creates threads for 30 ms, 200 at most, writes a line, and waits for its end, a
// minute at most.
func playThreads() {
	began := time.Now()
	for n := 0; n < 200 && time.Since(began) < 30*time.Millisecond; n++ {
		ready := make(chan bool)
		go func() {
			runtime.LockOSThread()
			ready <- true
			select {}
		}()
		<-ready
	}
	fmt.Println()
	time.Sleep(time.Minute)
}

// TestRulesOfThreads is that no thread escapes that is created while its process gets its
// rule.
func TestRulesOfThreads(t *testing.T) {
	h, dir, proc := newHome(t), t.TempDir(), procfs.New("/")
	self, err := os.Executable()
	require.NoError(t, err)
	program := copyOf(t, self, dir, own("9"))
	d := startRules(t, h, levelRule("one", own("9"), 3))
	threads := 0
	for range 20 {
		cmd := exec.Command(program)
		cmd.Env = append(os.Environ(), threadsRole+"=1")
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		_, err = bufio.NewReader(out).ReadString('\n')
		require.NoError(t, err)
		pid := kernel.TID(cmd.Process.Pid)
		eventually(t, "it has its rule", func() bool { return len(d.done(pid)) > 0 })
		eventually(t, "all of its threads have it", func() bool {
			tids, err := proc.Threads(pid)
			require.NoError(t, err)
			return !slices.ContainsFunc(tids, func(tid kernel.TID) bool {
				p, err := sched.IOPrio(tid)
				return err != nil || p.Level != 3
			})
		})
		tids, _ := proc.Threads(pid)
		threads += len(tids)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	second := 0
	for _, l := range d.lines("applied") {
		if l["status"] == "done" {
			second++
		}
	}
	t.Logf("20 processes, %d threads, %d looked at once more and set", threads, second-20)
}
