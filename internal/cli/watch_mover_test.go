package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

// moverThreads makes the test binary a process with so many threads that
// spin; with a number after a colon, each moves itself so often whenever a byte
// comes on standard input. It ends when that does.
const moverThreads = "PITON_TEST_MOVER"

// playMover is the life of a mover.
func playMover(role string) {
	first, second, _ := strings.Cut(role, ":")
	threads, _ := strconv.Atoi(first)
	flips, _ := strconv.Atoi(second)
	runtime.GOMAXPROCS(threads + 2)
	var turn, spinning atomic.Int32
	tids, done := make(chan int, threads), make(chan bool, threads) // nobody waits to send
	for range threads {
		go func() {
			runtime.LockOSThread()
			all, _ := sched.Affinity(0)
			cpus := all.CPUs()
			tids <- syscall.Gettid()
			spinning.Add(1) // from here on it never sleeps
			for did := int32(0); ; {
				if flips == 0 || turn.Load() == did {
					continue
				}
				did++
				for i := range flips {
					_ = sched.SetAffinity(0, cpuset.Of(cpus[i%2*(len(cpus)-1)]))
				}
				_ = sched.SetAffinity(0, all)
				done <- true
			}
		}()
	}
	for int(spinning.Load()) < threads {
		time.Sleep(time.Millisecond)
	}
	for range threads {
		fmt.Print(<-tids, " ")
	}
	fmt.Println()
	for one := make([]byte, 1); ; {
		if _, err := os.Stdin.Read(one); err != nil {
			return
		}
		turn.Add(1)
		for range threads {
			<-done
		}
		fmt.Println("moved")
	}
}

// mover is a running one.
type mover struct {
	t    *testing.T
	pid  kernel.TID
	tids []kernel.TID // of its spinning threads
	in   io.Writer
	out  *bufio.Reader
}

func startMover(t *testing.T, role string) *mover {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	// Go would interrupt the threads that spin.
	cmd.Env = append(os.Environ(), moverThreads+"="+role, "GODEBUG=asyncpreemptoff=1", "GOGC=off")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	m := &mover{t: t, pid: kernel.TID(cmd.Process.Pid), in: in, out: bufio.NewReader(out)}
	for word := range strings.FieldsSeq(m.line()) {
		tid, err := strconv.Atoi(word)
		require.NoError(t, err)
		m.tids = append(m.tids, kernel.TID(tid))
	}
	return m
}

func (m *mover) line() string {
	m.t.Helper()
	line, err := m.out.ReadString('\n')
	require.NoError(m.t, err)
	return line
}

// move lets the threads move themselves, and waits until they did.
func (m *mover) move() {
	m.t.Helper()
	_, err := m.in.Write([]byte{1})
	require.NoError(m.t, err)
	require.Equal(m.t, "moved\n", m.line())
}

// freeze stops the mover and returns se.nr_migrations of each thread.
func (m *mover) freeze() map[kernel.TID]uint64 {
	m.t.Helper()
	require.NoError(m.t, syscall.Kill(int(m.pid), syscall.SIGSTOP))
	fs := procfs.New("/")
	var all map[kernel.TID]uint64
	eventually(m.t, "it stops", func() bool {
		all = map[kernel.TID]uint64{}
		tids, err := fs.Threads(m.pid)
		require.NoError(m.t, err)
		for _, tid := range tids {
			st, err := fs.ThreadStat(m.pid, tid)
			require.NoError(m.t, err)
			counters, err := fs.Sched(m.pid, tid)
			require.NoError(m.t, err)
			if st.State != 'T' {
				return false
			}
			all[tid] = counters.Migrations
		}
		return true
	})
	return all
}

func (m *mover) thaw() {
	m.t.Helper()
	require.NoError(m.t, syscall.Kill(int(m.pid), syscall.SIGCONT))
}

// running waits until all the spinning threads do: one that still sleeps does
// not move when it is told to, but when it wakes.
func (m *mover) running() {
	m.t.Helper()
	fs := procfs.New("/")
	for _, tid := range m.tids {
		eventually(m.t, "it runs", func() bool {
			st, err := fs.ThreadStat(m.pid, tid)
			return err == nil && st.State == 'R'
		})
	}
}
