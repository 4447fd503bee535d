// Package app is one run of piton: its streams, the flags that every command has, and what
// commands ask of the machine (tuner.go, targets.go, machine.go, sampling.go).
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"piton/internal/cli/exit"
	"piton/internal/cli/flags"
	"piton/internal/crash"
	"piton/internal/kernel"
	"piton/internal/kernel/tree"
)

// IO is the surroundings of a run, so that a test can run the whole program in its own
// process.
type IO struct {
	Args []string // without the program's name
	Env  []string // KEY=value
	In   io.Reader
	Out  io.Writer
	Err  io.Writer
	// Signals delivers SIGINT, SIGTERM, SIGHUP, SIGQUIT and crash.Sent to commands that end
	// in an orderly way; nil = those of this process.
	Signals <-chan os.Signal
	// Exec makes this process another program (piton run), as kernel.Exec, which nil
	// stands for.
	Exec func(path string, argv, env []string, prepare func(kernel.TID) error) error
}

// App is one run of piton: its surroundings, the flags that every command has, and what its
// end depends on.
type App struct {
	IO
	HostRoot string // /proc and /sys are below it
	recorded bool   // HostRoot was given, so nothing acts on this machine, be it "/"
	ReadOnly bool   // nothing that changes the system exists
	NoColor  bool
	ASCII    bool
	Source   flags.Choice // of the figures: SourceAuto or SourceProc
	leftOut  bool         // it was said that $XDG_STATE_HOME is

	WriteErr error          // the first one of standard output, which is the run's end
	Changed  bool           // something was changed
	Signal   syscall.Signal // that ended the run, 0 for none
}

// Write writes to standard output, until the first error.
func (a *App) Write(b []byte) (n int, err error) {
	if a.WriteErr == nil {
		n, a.WriteErr = a.Out.Write(b)
	}
	return n, a.WriteErr
}

// Getenv looks a variable up in the environment that the run was given.
func (a *App) Getenv(key string) string {
	for _, kv := range slices.Backward(a.Env) {
		if value, ok := strings.CutPrefix(kv, key+"="); ok {
			return value
		}
	}
	return ""
}

// Interruptible returns a context that ends with the first signal; a second one
// ends the process at once. Call stop before returning.
func (a *App) Interruptible(ctx context.Context) (_ context.Context, stop func()) {
	return a.Until(ctx, func(s syscall.Signal) bool { a.Signal = s; return true })
}

// Until is Interruptible with the first signal of which ends reports that it does.
func (a *App) Until(ctx context.Context, ends func(syscall.Signal) bool) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	signals := a.Signals
	release := func() {}
	if signals == nil {
		own := make(chan os.Signal, 4)
		signals, release = own, crash.Hold(own, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			select {
			case s := <-signals:
				if s, is := s.(syscall.Signal); is && !ends(s) {
					continue
				}
				release()
				cancel()
			case <-ctx.Done():
			}
		}
	}()
	return ctx, func() { cancel(); <-ended; release() }
}

// Warn writes a sentence to stderr that is not the reason for the run's end.
func (a *App) Warn(format string, args ...any) {
	fmt.Fprintf(a.Err, "piton: %s\n", exit.Sentence(fmt.Sprintf(format, args...)))
}

// Live reports whether piton looks at the machine that it runs on, and may act on it.
func (a *App) Live() bool { return !a.recorded }

// SetUp completes the global flags from the environment; given is whether --host-root was given.
func (a *App) SetUp(given bool) error {
	if a.HostRoot == "" {
		a.HostRoot = a.Getenv("PITON_HOST_ROOT")
	}
	a.recorded = given || a.HostRoot != ""
	if a.HostRoot == "" {
		a.HostRoot = "/"
	} else if err := kernel.DropCapabilities(); err != nil { // whoever made the tree decides what is read
		return err
	}
	dir, err := filepath.Abs(a.HostRoot)
	if err != nil {
		return exit.Usagef("--host-root %s: %w", a.HostRoot, err)
	}
	a.HostRoot = dir
	if a.Live() {
		return nil
	}
	if dir != "/" {
		switch err := tree.Confine(dir); {
		case errors.Is(err, syscall.ELOOP):
			return exit.Usagef("--host-root %s leads through a link into a process's open files; mount it elsewhere to read it", dir)
		case errors.Is(err, errors.ErrUnsupported):
			return exit.With(exit.NotPermitted, fmt.Errorf("--host-root %s: %w", dir, err))
		}
	}
	for _, sub := range []string{"proc", "sys"} {
		if fd, err := kernel.OpenDir(kernel.NoDir, []byte(filepath.Join(dir, sub)+"\x00")); err == nil {
			return kernel.CloseFile(fd)
		}
	}
	return fmt.Errorf("--host-root %s: there is neither proc nor sys below it", dir)
}

// ErrReadOnly is the error of a change by a command that read-only mode has because it also
// shows something.
var ErrReadOnly = exit.With(exit.NotPermitted, errors.New("piton is in read-only mode and changes nothing (--readonly, PITON_READONLY)"))

// Commands make commands of piton, by name: all of them take half a millisecond, so
// only those that a command line needs are made.
type Commands map[string]func(*App) *cobra.Command

// The groups of commands in the help.
const (
	GroupTune  = "tune"
	GroupProve = "prove"
	GroupLook  = "look"
)
