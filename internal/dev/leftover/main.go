// Command leftover runs a command, and fails if it leaves processes running or files
// where piton and its tests could leave some:
//
//	go run ./internal/dev/leftover -- go test ./...
package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"piton/internal/kernel"
)

// ending is how long what is left may take to end: a guard that was confirmed, a daemon
// that removes its lock.
const ending = 20 * time.Second

func main() {
	if len(os.Args) < 3 || os.Args[1] != "--" {
		fmt.Fprintln(os.Stderr, "usage: leftover -- COMMAND…")
		os.Exit(2)
	}
	code, err := watch(usualPlaces(), ending, os.Args[2:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "leftover:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// watch runs a command and returns its exit code; the error says what it left for longer
// than patience.
func watch(places []string, patience time.Duration, argv []string) (code int, err error) {
	if err := kernel.AdoptOrphans(); err != nil {
		return 1, err
	}
	before := files(places)
	signal.Notify(make(chan os.Signal, 1), os.Interrupt) // the terminal sends it to the command as well
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return 1, err
	}
	command, err := os.StartProcess(path, argv, &os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	if err != nil {
		return 1, err
	}
	if code, err = await(command.Pid); err != nil {
		return 1, err
	}
	var left []string
	notJudged := false
	for until := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		left = processes()
		changed := differences(before, files(places))
		if notJudged = len(changed) > 0 && othersTest(); !notJudged {
			for _, path := range changed {
				left = append(left, "file "+path)
			}
		}
		if len(left) == 0 || time.Now().After(until) {
			break
		}
	}
	if notJudged {
		fmt.Fprintln(os.Stderr, "leftover: files are not judged: other tests run that may have made them")
	}
	if len(left) > 0 {
		return code, fmt.Errorf("the command left\n  %s", strings.Join(left, "\n  "))
	}
	return code, nil
}

// await waits for a child's end, and for those of the orphans that end before.
func await(command int) (code int, err error) {
	for {
		var status syscall.WaitStatus
		switch pid, err := syscall.Wait4(-1, &status, 0, nil); {
		case err == syscall.EINTR:
		case err != nil:
			return 1, err
		case pid == command && status.Signaled():
			return 128 + int(status.Signal()), nil
		case pid == command:
			return status.ExitStatus(), nil
		}
	}
}

// processes are the children that have not ended, a line each: all that the command
// started and did not wait for.
func processes() (left []string) {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if err == syscall.ECHILD {
			return nil
		}
		if pid == 0 {
			break
		}
	}
	all, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range all {
		stat, _ := os.ReadFile(path)
		var state string
		var parent int
		_, behind, _ := strings.Cut(string(stat), ") ") // the name may hold blanks
		_, _ = fmt.Sscan(behind, &state, &parent)
		if parent != os.Getpid() {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		if words := strings.Split(string(line), "\x00"); filepath.Base(words[0]) != "go" { // it sends its counts in the background
			left = append(left, "process "+filepath.Base(filepath.Dir(path))+": "+strings.Join(words, " "))
		}
	}
	return left
}
