package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cli/exit"
)

func TestSteeringFlags(t *testing.T) {
	h, pid := newHome(t), fmt.Sprint(sleeper(t))
	for args, want := range map[string]string{
		"--show --via rfs":         "give --show or --via, not both",
		"--policy nearest":         "it must be current, request, least-loaded, dedicated=CPUS or apart",
		"--policy dedicated":       "CPUs go with dedicated only, as dedicated=0-1",
		"--policy apart=0":         "CPUs go with dedicated only, as dedicated=0-1",
		"--policy dedicated=":      "CPUs go with dedicated only, as dedicated=0-1",
		"--via rps":                "--via rps does not do --policy current: the ways of current are arfs, rfs, xdp, xdp-generic, hint",
		"--via rfs --policy apart": "--via rfs does not do --policy apart: the ways of apart are xdp, irq, rps, xdp-generic",
		"--via magic":              "it must be one of auto, ntuple, arfs, rfs, irq, rps, xdp, xdp-generic, hint",
		"--try 12s --for 1m":       "give --try or --for, not both",
		"--try 1s":                 "it must be 12s to 1h",
		"--for 24h":                "packets are steered for at most 23h",
	} {
		r := h.run(append([]string{"irq", "follow", pid}, strings.Fields(args)...)...)
		assert.Equal(t, exit.Usage, r.code, args)
		assert.Contains(t, r.err, want, args)
		assert.Empty(t, r.out, args)
	}
	r := h.run("--readonly", "irq", "follow", pid, "--policy", "apart")
	assert.Equal(t, exit.NotPermitted, r.code, r.err)
	assert.Contains(t, r.err, "read-only mode")
}

// TestSteeringOfNothing: a process that receives nothing has nothing to be steered.
func TestSteeringOfNothing(t *testing.T) {
	needFlows(t)
	h, pid := newHome(t), fmt.Sprint(sleeper(t))
	r := h.run("irq", "follow", pid)
	require.Zero(t, r.code, r.err)
	assert.Contains(t, r.out, "nothing was received in 2s: nothing is set")
	r = h.run("irq", "follow", pid, "-o", "json")
	require.Zero(t, r.code, r.err)
	lines := jsonLines(t, r.out)
	require.Len(t, lines, 1)
	is := lines[0]
	assert.Equal(t, []any{"follow", "current", false, nil, 0.0}, []any{is["type"], is["policy"], is["steered"], is["share_same_cpu_before"], is["exit_code"]})
	assert.Equal(t, []any{"nothing was received in 2s: nothing is set"}, is["why"])
	assert.Empty(t, h.run("journal", "-o", "json").out, "nothing was set")
}
