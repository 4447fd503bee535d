package benchcmd

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"

	"piton/internal/bench"
	"piton/internal/bench/runner"
	"piton/internal/cli/app"
	"piton/internal/kernel"
)

// TunaRunner is the runner with its processes placed by tuna, if that is
// installed: a study compares both. Only the CPU and the policy of a placement
// are used.
func TunaRunner(a *app.App, r *runner.Runner) (*runner.Runner, bool) {
	path, err := exec.LookPath("tuna")
	if err != nil {
		return nil, false
	}
	by := *r
	by.Place = func(ctx context.Context, pid kernel.TID, spec bench.Spec) (bench.Placed, error) {
		if spec.Policy == kernel.Other || spec.CPUs == "" {
			return bench.Placed{}, nil // the probe
		}
		if err := askTuna(ctx, path, pid, spec); err != nil {
			return bench.Placed{}, err
		}
		return bench.Placed{CPUs: spec.CPUs, Reason: "by tuna"}, nil
	}
	if a.ReadOnly {
		by.Place = unprivileged(by.Place)
	}
	return &by, true
}

// askTuna calls tuna with the options of its version, which changed with 0.18.
func askTuna(ctx context.Context, path string, pid kernel.TID, spec bench.Spec) error {
	thread, policy := fmt.Sprint(pid), fmt.Sprintf("%s:%d", spec.Policy, spec.RTPrio)
	first := call(ctx, path, "-t", thread, "-C", "-c", spec.CPUs, "-m", "-p", policy)
	if first == nil {
		return nil
	}
	if call(ctx, path, "move", "-t", thread, "-C", "-c", spec.CPUs) == nil && call(ctx, path, "priority", policy, "-t", thread, "-C") == nil {
		return nil
	}
	return first
}

func call(ctx context.Context, path string, args ...string) error {
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := kernel.Run(cmd); err != nil {
		line, _, _ := strings.Cut(strings.TrimSpace(out.String()), "\n")
		return fmt.Errorf("tuna %s: %w (%.200s)", strings.Join(args, " "), err, line)
	}
	return nil
}
