package kernel_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bpf/bpftest"
	"piton/internal/kernel"
	"piton/internal/kernel/kerneltest"
)

// privilegeVar makes the test binary, which has three file capabilities and
// runs as nobody, do what TestPrivileges expects, and exit with 1 if that fails.
const privilegeVar = "PITON_KERNEL_TEST_PRIVILEGES"

func TestPrivileges(t *testing.T) {
	kerneltest.NeedRoot(t, "to grant file capabilities and to become nobody")
	program := bpftest.PublicCopy(t)
	kerneltest.GrantFile(t, program, kernel.CapSysNice, kernel.CapSysPtrace, kernel.CapDACOverride)
	cmd := exec.Command(program)
	cmd.Env = []string{privilegeVar + "=1"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if strings.Contains(string(out), syscall.ENOTSUP.Error()) {
		t.Skip("built with cgo: ", string(out))
	}
	assert.NoError(t, err, "%s", out)
	assert.Equal(t, "PASS\n", string(out))
}

// Bit 23 is CAP_SYS_NICE, bit 19 CAP_SYS_PTRACE, bit 1 CAP_DAC_OVERRIDE, which is never raised.
const (
	niceSet = "0000000000800000"
	allSet  = "0000000000880002"
)

func playPrivileges() (err error) {
	if own := threadSet("CapEff"); own != allSet {
		return fmt.Errorf("the test's program began with %s: a filesystem mounted nosuid?", own)
	}
	if err := kernel.LowerCapabilities(); err != nil {
		return err
	}
	if err := allThreads("0000000000000000", allSet); err != nil {
		return fmt.Errorf("after lowering: %w", err)
	}
	if usable, err := kernel.UsableCapabilities(); err != nil || usable != 1<<kernel.CapSysNice|1<<kernel.CapSysPtrace {
		return fmt.Errorf("usable are %x, %v", usable, err)
	}
	if err := newThreads(); err != nil {
		return err
	}
	if err := load(); err != nil {
		return err
	}
	if err := allThreads("0000000000000000", allSet); err != nil {
		return fmt.Errorf("after many calls: %w", err)
	}
	if err := lowerNice(); err != nil {
		return fmt.Errorf("CAP_SYS_NICE is not raised: %w", err)
	}
	if err := openMaps(); err != nil {
		return fmt.Errorf("CAP_SYS_PTRACE is not raised: %w", err)
	}
	if err := kernel.DropCapabilities(); err != nil {
		return err
	}
	if err := allThreads("0000000000000000", "0000000000000000"); err != nil {
		return fmt.Errorf("after dropping: %w", err)
	}
	for _, call := range []func() error{lowerNice, openMaps} {
		if err := call(); !errors.Is(err, syscall.EACCES) {
			return fmt.Errorf("what was dropped is still there: %w", err)
		}
	}
	return nil
}

// openMaps needs CAP_SYS_PTRACE, as the parent is root's.
func openMaps() error {
	fd, err := kernel.OpenTraced(kernel.TID(os.Getppid()), "maps")
	if err != nil {
		return err
	}
	return kernel.CloseFile(fd)
}

// lowerNice needs CAP_SYS_NICE, as RLIMIT_NICE is 0.
func lowerNice() error {
	return kernel.OnThread(func() error {
		self, err := kernel.SystemWriter().Hold(kernel.TID(os.Getpid()), 0)
		if err != nil {
			return err
		}
		defer self.Close()
		return self.Thread(kernel.TID(gettid()), 0).SetNice(-5)
	})
}

// newThreads makes the runtime start threads while one is privileged.
func newThreads() error {
	const count = 32
	return kernel.Privileged(func() error {
		if own := threadSet("CapEff"); own != niceSet {
			return fmt.Errorf("a privileged thread has %s", own)
		}
		var all, seen sync.WaitGroup
		all.Add(count)
		others := make([]string, count)
		for i := range others {
			seen.Go(func() {
				runtime.LockOSThread()
				all.Done()
				all.Wait() // so that each has a thread of its own
				others[i] = threadSet("CapEff")
			})
		}
		seen.Wait()
		for _, other := range others {
			if other != "0000000000000000" {
				return fmt.Errorf("a thread started meanwhile has %s", other)
			}
		}
		return nil
	}, kernel.CapSysNice)
}

// load makes privileged calls from many goroutines, and looks at the thread after each.
func load() error {
	failed := make(chan error, 64)
	for range cap(failed) {
		go func() {
			for range 100 {
				err := lowerNice()
				if own := threadSet("CapEff"); err == nil && own != "0000000000000000" {
					err = fmt.Errorf("a thread has %s outside calls", own)
				}
				if err != nil {
					failed <- err
					return
				}
			}
			failed <- nil
		}()
	}
	var all error
	for range cap(failed) {
		all = errors.Join(all, <-failed)
	}
	return all
}

// allThreads checks the effective and the permitted set of each thread.
func allThreads(effective, permitted string) error {
	files, err := filepath.Glob("/proc/self/task/*/status")
	for _, file := range files {
		if e, p := set(file, "CapEff"), set(file, "CapPrm"); e != "" && p != "" && (e != effective || p != permitted) {
			return fmt.Errorf("%s: effective %s, permitted %s", file, e, p)
		}
	}
	return err
}

// threadSet is a set of the calling thread.
func threadSet(name string) string {
	runtime.LockOSThread() // the file is of the thread that opens it
	defer runtime.UnlockOSThread()
	return set("/proc/thread-self/status", name)
}

// set is a set of a thread, "" once it has ended.
func set(file, name string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(text), name+":\t")
	value, _, _ := strings.Cut(rest, "\n")
	return value
}

// TestLowerCapabilitiesLeavesRoot is that root keeps what it has.
func TestLowerCapabilitiesLeavesRoot(t *testing.T) {
	before, err := kernel.UsableCapabilities()
	require.NoError(t, err)
	if os.Geteuid() != 0 && before != 0 {
		t.Skip("the capabilities of this test are those to be lowered")
	}
	require.NoError(t, kernel.LowerCapabilities())
	require.NoError(t, kernel.DropCapabilities())
	after, err := kernel.UsableCapabilities()
	require.NoError(t, err)
	assert.Equal(t, before, after)
}
