// Package cli is piton's command line: one file a command, each with its
// options, and one place each for exit codes (exit.go), JSON lines (lines.go)
// and tables (table.go). Commands end in the same functions of internal/action
// as the keys.
//
// Start at Main; root.go lists the commands.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"piton/internal/change/guard"
	"piton/internal/field"
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

// Main runs piton and returns its exit code.
func Main(io IO) int {
	if err := kernel.LowerCapabilities(); err != nil {
		fmt.Fprintf(io.Err, "piton: file capabilities cannot be lowered (build with CGO_ENABLED=0, or remove them): %v\n", err)
		return ExitNotPermitted
	}
	if io.Exec == nil {
		io.Exec = kernel.Exec
	}
	a := &app{IO: io}
	if len(io.Args) > 0 && io.Args[0] == workloadVerb {
		return a.workload(io.Args[1:])
	}
	if len(io.Args) > 0 && io.Args[0] == guard.Verb {
		return a.beGuard(io.Args[1:])
	}
	if len(io.Args) == 1 && io.Args[0] == orderVerb {
		return a.obey()
	}
	if len(io.Args) > 0 && (io.Args[0] == sweeperVerb || io.Args[0] == sweeperChild) {
		return a.sweep(io.Args[0], io.Args[1:])
	}
	err := a.execute()
	if a.signal != 0 {
		return 128 + int(a.signal) // 130 after ^C
	}
	if text := message(err); text != "" {
		fmt.Fprintf(io.Err, "piton: %s\n", text)
	}
	return exitCode(err)
}

// execute runs the command that the arguments name.
func (a *app) execute() (err error) {
	if a.readonly, err = a.wantsReadOnly(); err != nil {
		return err
	}
	root := newRoot(a)
	if err := checkTopic(root, a.Args); err != nil {
		return err
	}
	root.SetArgs(argsFor(root, a.Args))
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	err = root.ExecuteContext(context.Background())
	switch {
	case err != nil:
		return err
	case a.writeErr != nil && a.changed:
		return codeError{ExitSome, fmt.Errorf("it was changed, and piton journal shows it, but it could not be printed: %w", a.writeErr)}
	}
	return a.writeErr
}

// Write writes to standard output, until the first error.
func (a *app) Write(b []byte) (n int, err error) {
	if a.writeErr == nil {
		n, a.writeErr = a.Out.Write(b)
	}
	return n, a.writeErr
}

// message is the sentence for an error, safe to print, or "" when there is
// nothing to say.
func message(err error) string {
	if err == nil || errors.Is(err, syscall.EPIPE) || errors.Is(err, context.Canceled) {
		return ""
	}
	// errors.Join writes a line for each.
	return sentence(strings.ReplaceAll(err.Error(), "\n", "; "))
}

// maxSentence is the most bytes of a message: what it quotes may be a megabyte.
const maxSentence = 1000

// sentence makes a text safe to print, and leaves out the middle of one that is
// too long to read.
func sentence(text string) string {
	const end = maxSentence / 3
	if len(text) > maxSentence {
		text = text[:maxSentence-end] + " … " + text[len(text)-end:]
	}
	return field.Clean(strings.ToValidUTF8(text, "\uFFFD"))
}

// app is one run of piton.
type app struct {
	IO
	global
	writeErr error          // the first one of standard output, which is the run's end
	changed  bool           // something was changed
	signal   syscall.Signal // that ended the run, 0 for none
	gate     *os.File       // that keeps the sweeper of a run's cgroup waiting
}

// global are the flags that every command has.
type global struct {
	hostRoot string
	recorded bool // hostRoot was given, so nothing acts on this machine, be it "/"
	readonly bool // nothing that changes the system exists
	noColor  bool
	ascii    bool
	source   choice // of the figures: sourceAuto or sourceProc
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

// beGuard is the life of a guard process. It is looked at before anything else, so
// that it starts fast.
func (a *app) beGuard(args []string) int {
	if err := guard.Main(args); err != nil {
		a.warn("%s", message(err))
		return ExitFailed
	}
	return ExitDone
}
