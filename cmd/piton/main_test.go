package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// binary is the program under test, built by TestMain.
var binary string

// helperMode makes the test binary act as a process to tune.
const helperMode = "PITON_TEST_HELPER"

func TestMain(m *testing.M) {
	switch os.Getenv(helperMode) {
	case "bounce":
		bounce()
		return
	case "sleep":
		threads, _ := strconv.Atoi(os.Args[1])
		sleep(threads)
		return
	case "shell":
		shell(os.Args[1:])
		return
	}
	if binary = os.Getenv(insideSudo); binary != "" {
		os.Exit(m.Run())
	}
	os.Exit(build(m))
}

func build(m *testing.M) int {
	dir, err := os.MkdirTemp("", "piton-test")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "piton")
	piton := exec.Command("go", "build", "-ldflags=-s -dumpdep -X piton/internal/userfile.Run=/nonexistent", // as the Makefile does, but with the objects
		"-o", binary, ".") // of the tests (no -trimpath), and a lock and guards of each test's own
	piton.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := piton.CombinedOutput()
	if err != nil {
		fmt.Fprintf(os.Stderr, "build piton: %v\n%s", err, out)
		return 1
	}
	linked = string(out)
	return m.Run()
}

// bounce works in short turns on one thread, so that the scheduler, given
// several such processes, keeps moving them; for ten minutes at most.
func bounce() {
	runtime.LockOSThread()
	for end := time.Now().Add(10 * time.Minute); time.Now().Before(end); {
		for turn := time.Now().Add(3 * time.Millisecond); time.Now().Before(turn); {
		}
		time.Sleep(time.Millisecond)
	}
}

// startBouncers starts processes that bounce between CPUs, and returns the PID
// of the first; they end with the test. They bear the name given.
func startBouncers(t *testing.T, name string, count int) int {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.Symlink(self, path))
	first := 0
	for range count {
		cmd := exec.Command(path)
		cmd.Args[0] = name
		cmd.Env = append(os.Environ(), helperMode+"=bounce", "GOMAXPROCS=1")
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		if first == 0 {
			first = cmd.Process.Pid
		}
	}
	return first
}

func pidText(pid int) string { return strconv.Itoa(pid) }
