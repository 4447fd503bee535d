package tunecmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"piton/internal/change"
	"piton/internal/change/guard"
	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// A command of piton run --cgroup is piton's own process after execve(2), so another process
// removes its cgroup: a sweeper, in a session of its own, which is not the command's child.

// SweeperVerb makes piton a sweeper: piton VERB DIR ENABLED. The first one starts
// the second and ends, so that the second is init's child.
const (
	SweeperVerb  = "piton-sweep-cgroup"
	SweeperChild = "piton-sweep-cgroup-child"
)

// enterGroup puts this process in a new cgroup, which goes when the command and
// all that it started have ended. The sweeper waits as long as gate is open: until
// execve, or piton's end.
func enterGroup(a *app.App, t *change.Tuner, cpus, mems cpuset.Set) (gate *os.File, err error) {
	group, err := t.NewGroup(cpus, mems)
	if err != nil {
		return nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, group.Remove())
	}
	defer read.Close()
	if err := startSweeper(a, SweeperVerb, group, read); err != nil {
		return nil, errors.Join(fmt.Errorf("start what removes the cgroup: %w", err), group.Remove())
	}
	if err := group.Enter(); err != nil {
		return nil, errors.Join(err, write.Close())
	}
	return write, nil
}

func startSweeper(a *app.App, verb string, group change.TransientGroup, gate *os.File) error {
	cmd := exec.Command("/proc/self/exe", verb, group.Dir, group.Enabled)
	cmd.Env, cmd.Dir, cmd.Stdin = guard.Environment(a.Env), "/", gate
	if verb == SweeperChild {
		return kernel.Start(cmd)
	}
	kernel.Detach(cmd)
	return kernel.Run(cmd)
}

// Sweep is the main function of a sweeper; the first argument is the verb.
func Sweep(a *app.App, args []string) int {
	verb, args := args[0], args[1:]
	gate, isFile := a.In.(*os.File)
	if len(args) != 2 || !filepath.IsAbs(args[0]) || !isFile {
		return exit.Usage
	}
	group := change.TransientGroup{Dir: args[0], Enabled: args[1]}
	if err := kernel.CloseInherited(2); err != nil { // somebody may wait for the end of a pipe
		return exit.Failed
	}
	if verb == SweeperVerb {
		if err := startSweeper(a, SweeperChild, group, gate); err != nil {
			return exit.Failed
		}
		return exit.Done
	}
	_, _ = io.Copy(io.Discard, gate) // until the command runs
	if err := awaitEmpty(group); err != nil {
		return exit.Failed
	}
	if err := group.Remove(); err != nil {
		return exit.Failed
	}
	return exit.Done
}

func awaitEmpty(group change.TransientGroup) error {
	events, err := os.Open(filepath.Join(group.Dir, "cgroup.events"))
	if err != nil {
		return err
	}
	defer events.Close()
	for {
		if empty, err := group.Empty(); empty || err != nil {
			return err
		}
		if err := kernel.AwaitNotice(events); err != nil {
			return err
		}
	}
}
