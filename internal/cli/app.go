package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"piton/internal/kernel"
)

// IO is what a run of piton touches of its surroundings, so that a test can run
// the whole program inside its own process.
type IO struct {
	Args []string // without the program's name
	Env  []string // KEY=value
	In   io.Reader
	Out  io.Writer
	Err  io.Writer
	// Signals delivers SIGINT, SIGTERM, SIGHUP and SIGQUIT to commands that end in an
	// orderly way; nil = those of this process.
	Signals <-chan os.Signal
	// Exec makes this process another program (piton run), as kernel.Exec, which nil
	// stands for.
	Exec func(path string, argv, env []string, prepare func(kernel.TID) error) error
}

// app is one run of piton: its surroundings, the flags that every command has, and what
// is to be said of it at its end.
type app struct {
	IO
	hostRoot string
	recorded bool // hostRoot was given, so nothing acts on this machine, be it "/"
	readonly bool // nothing that changes the system exists
	noColor  bool
	ascii    bool
	source   choice // of the figures: sourceAuto or sourceProc

	writeErr error          // the first one of standard output, which is the run's end
	changed  bool           // something was changed
	signal   syscall.Signal // that ended the run, 0 for none
}

// Write writes to standard output, until the first error.
func (a *app) Write(b []byte) (n int, err error) {
	if a.writeErr == nil {
		n, a.writeErr = a.Out.Write(b)
	}
	return n, a.writeErr
}

// getenv looks a variable up in the environment that the run was given.
func (a *app) getenv(key string) string {
	for _, kv := range slices.Backward(a.Env) {
		if value, ok := strings.CutPrefix(kv, key+"="); ok {
			return value
		}
	}
	return ""
}

// interruptible returns a context that ends with the first signal; a second one
// ends the process at once. Call stop before returning.
func (a *app) interruptible(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	signals := a.Signals
	release := func() {}
	if signals == nil {
		own := make(chan os.Signal, 1)
		signal.Notify(own, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
		signals, release = own, func() { signal.Stop(own) }
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case s := <-signals:
			a.signal, _ = s.(syscall.Signal)
			release()
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(); <-ended; release() }
}

// warn writes a sentence to stderr that is not the reason for the run's end.
func (a *app) warn(format string, args ...any) {
	fmt.Fprintf(a.Err, "piton: %s\n", sentence(fmt.Sprintf(format, args...)))
}

// live reports whether piton looks at the machine that it runs on, and may act on it.
func (a *app) live() bool { return !a.recorded }

// setUp completes the global flags from the environment.
func (a *app) setUp(given bool) error {
	if a.hostRoot == "" {
		a.hostRoot = a.getenv("PITON_HOST_ROOT")
	}
	a.recorded = given || a.hostRoot != ""
	if a.hostRoot == "" {
		a.hostRoot = "/"
	} else if err := kernel.DropCapabilities(); err != nil { // what is below is its maker's
		return err
	}
	dir, err := filepath.Abs(a.hostRoot)
	if err != nil {
		return usagef("--host-root %s: %w", a.hostRoot, err)
	}
	a.hostRoot = dir
	if a.live() {
		return nil
	}
	for _, sub := range []string{"proc", "sys"} {
		fd, err := kernel.OpenDir(kernel.NoDir, []byte(filepath.Join(dir, sub)+"\x00"))
		if err == nil {
			return kernel.CloseFile(fd)
		}
		if errors.Is(err, syscall.ELOOP) {
			return usagef("--host-root %s leads through a link into a process's open files; mount it elsewhere to read it", dir)
		}
	}
	return usagef("--host-root %s: there is neither proc nor sys below it", dir)
}

// errReadOnly is for the few ways into a change that are values of a command
// which also shows something.
var errReadOnly = withCode(ExitNotPermitted, errors.New("piton is in read-only mode and changes nothing (--readonly, PITON_READONLY)"))
