package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/tui"
)

// changing are the commands that change something. A new command is added here
// or to readOnlyCommands, so that read-only mode is thought of.
var changing = []string{
	"pin", "nice", "policy", "ionice", "slice", "uclamp", "cookie", "run", "isolate", "include", "move", "spread", "undo", "keep", "apply",
	"irq move", "irq spread", "irq reset", "irq default", "irq hint", "rescue", "auto", "rules run", "rules stop",
}

func TestEveryCommandIsKnownToLookOrToChange(t *testing.T) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			path := strings.TrimPrefix(sub.CommandPath(), "piton ")
			parent, _, nested := strings.Cut(path, " ")
			if isTopic(sub) || nested && (parent == "bench" || parent == "completion") {
				continue
			}
			changes := slices.Contains(changing, path)
			assert.True(t, slices.Contains(readOnlyCommands, path) != changes, "piton %s", path)
			if !changes { // else what is below is gone with it
				walk(sub)
			}
		}
	}
	walk(newRoot(&app.App{}))
}

func TestReadOnly(t *testing.T) {
	h := newHome(t)
	for _, verb := range changing {
		words := strings.Fields(verb)
		if c, rest, err := newRoot(&app.App{}).Find(words); err != nil || len(rest) > 0 || c.Name() != words[len(words)-1] {
			continue // not built yet
		}
		r := h.run(append([]string{"--readonly"}, append(words, "1", "5")...)...)
		assert.Equal(t, exit.Usage, r.code, "%s: %s", verb, r.err)
		assert.Contains(t, r.err, "there is no command \""+words[len(words)-1]+"\" in read-only mode: it changes the system", verb)
		assert.Empty(t, r.out)
	}
	for args, want := range map[string]string{
		"--readonly --headless --pid 1 --nice 5": "there is no flag --nice in read-only mode",
		"--readonly --headless --yes":            "there is no flag --yes in read-only mode",
		"--readonly --nosuch":                    "unknown flag: --nosuch",
		"run --readonly -- true":                 "read-only mode",
		"--readonly pin 1 --cpu 0":               "there is no command \"pin\" in read-only mode",
		"--readonly irq move 1 --cpu 0":          "there is no command \"move\" in read-only mode",
		"--readonly irq list --nic eth0":         "unknown flag: --nic",
	} {
		r := h.run(strings.Fields(args)...)
		assert.NotZero(t, r.code, args)
		assert.Contains(t, r.err, want, args)
	}
	r := h.run("--readonly", "sysctl", "vm.swappiness=1")
	assert.Equal(t, exit.NotPermitted, r.code)
	assert.Contains(t, r.err, "read-only mode")
	r = h.run("--readonly", "--help")
	assert.Zero(t, r.code)
	assert.Contains(t, r.out, "watch")
	assert.NotContains(t, r.out, "  pin ")
	assert.NotContains(t, r.out, "--policy")
	assert.NotContains(t, r.out, "--pin")
	r = h.run("--readonly", "help", "keys")
	assert.NotContains(t, r.out, "piton pin")
	assert.Contains(t, r.out, "quit")
	r = h.run("--readonly", "topo")
	assert.Zero(t, r.code)

	h.env = append(h.env, "PITON_READONLY=1")
	r = h.run("nice", "1", "5")
	assert.Equal(t, exit.Usage, r.code)
	assert.Contains(t, r.err, "read-only mode")
	h.env = append(h.env, "PITON_READONLY=0")
	r = h.run("nice", "2147483647", "5")
	assert.Contains(t, r.err, "no process or thread")
}

// TestReadOnlyValues are all ways to say it. Saying it once is enough.
func TestReadOnlyValues(t *testing.T) {
	for _, tt := range []struct {
		env, args string
		readonly  bool
	}{
		{"", "--readonly=1", true},
		{"", "--readonly=T", true},
		{"", "--readonly=true", true},
		{"", "--readonly=TRUE", true},
		{"", "--readonly=0", false},
		{"", "--readonly=false", false},
		{"", "--readonly=0 --readonly=1", true},
		{"", "--readonly=1 --readonly=0", true},
		{"1", "", true},
		{"true", "", true},
		{"0", "", false},
		{"false", "", false},
		{"1", "--readonly=0", true},
		{"0", "--readonly", true},
	} {
		h := newHome(t)
		if tt.env != "" {
			h.env = append(h.env, "PITON_READONLY="+tt.env)
		}
		for _, verb := range []string{"rescue --list -d 50ms", "nice 2147483647 5 --dry-run"} {
			r := h.run(append(strings.Fields(tt.args), strings.Fields(verb)...)...)
			assert.Equal(t, tt.readonly, strings.Contains(r.err, "in read-only mode"), "PITON_READONLY=%s piton %s %s: %s", tt.env, tt.args, verb, r.err)
			if tt.readonly {
				assert.Equal(t, exit.Usage, r.code)
			}
		}
	}
	h := newHome(t)
	for _, args := range []string{"--readonly=x topo", "--readonly= topo", "topo --readonly=2"} {
		r := h.run(strings.Fields(args)...)
		assert.Equal(t, exit.Usage, r.code, args)
		assert.Contains(t, r.err, "true or false", args)
	}
	h.env = append(h.env, "PITON_READONLY=maybe")
	r := h.run("topo")
	assert.Equal(t, exit.Usage, r.code)
	assert.Equal(t, "piton: PITON_READONLY is \"maybe\": it must be true or false\n", r.err)
}

// TestReadOnlyBehindTheWordRun is of words that look like a command to run.
func TestReadOnlyBehindTheWordRun(t *testing.T) {
	h := newHome(t)
	for _, args := range []string{"rescue --demote run --readonly", "nice run 5 --readonly", "run --readonly true"} {
		r := h.run(strings.Fields(args)...)
		assert.Equal(t, exit.Usage, r.code, args)
		assert.Contains(t, r.err, "in read-only mode", args)
	}
}

// TestHostRootChangesNothing has the root directory itself as the one to read.
func TestHostRootChangesNothing(t *testing.T) {
	pid := fmt.Sprint(sleeper(t))
	for _, args := range []string{
		"pin PID --cpu 0", "nice PID 5", "policy PID batch", "ionice PID idle", "slice PID 1ms", "uclamp PID 0,512", "cookie create PID",
		"move 0 -t PID", "spread 0 -t PID", "isolate 1", "include 0", "undo", "undo --all", "keep", "journal", "run -- true", "rescue --list",
		"irq move 1 --cpu 0", "irq spread nosuch", "irq reset 1", "irq default 0", "irq queues lo --rps 0", "sysctl kernel.nosuch=1", "sysctl vm.swappiness=60",
		"bench nqueens -n 4 --runs 1", "bench attach PID --place normal --runs 1", "bench paper nqueens", "watch PID --for 1ms", "irq follow PID --for 1ms", "doctor",
		"--headless --pid PID --nice 5", "apply PROFILE",
	} {
		h := newHome(t)
		file := filepath.Join(t.TempDir(), "profile.toml")
		require.NoError(t, os.WriteFile(file, []byte("version = 1\n[[task]]\nname = 'no such process'\nnice = 1\n"), 0o600))
		words := strings.Fields(strings.NewReplacer("PID", pid, "PROFILE", file).Replace(args))
		r := h.run(append([]string{"--host-root", "/"}, words...)...)
		assert.Equal(t, exit.NotPermitted, r.code, "%s: %s", args, r.err)
		assert.Empty(t, r.out, args)
		h.env = append(h.env, "PITON_HOST_ROOT=/")
		assert.Equal(t, exit.NotPermitted, h.run(words...).code, args)
		left, err := os.ReadDir(strings.TrimPrefix(h.env[0], "XDG_STATE_HOME="))
		require.NoError(t, err)
		assert.Empty(t, left, "%s: nothing is journalled", args)
	}
	assert.Zero(t, newHome(t).run("--host-root", "/", "topo").code)
}

func TestNoKeyChangesAnythingInReadOnlyMode(t *testing.T) {
	verbs := tui.Specs(true)
	assert.NotEmpty(t, verbs)
	for _, s := range verbs {
		assert.False(t, s.Mutates, s.ID)
	}
	assert.Less(t, len(verbs), len(tui.Specs(false)))
}
