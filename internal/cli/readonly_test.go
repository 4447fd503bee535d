package cli

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change/guard"
	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/cli/tunecmd"
	"piton/internal/tui"
)

// changing are the commands that change something. A new command is added here
// or to readOnlyCommands, so that read-only mode is thought of.
var changing = []string{
	"pin", "nice", "policy", "ionice", "slice", "uclamp", "weight", "quota", "cookie", "run", "isolate", "include", "move", "spread", "undo", "keep", "apply",
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
			assert.True(t, slices.Contains(readOnlyCommands, path) != changes,
				"piton %s must be in readOnlyCommands (readonly.go) if it changes nothing, else in changing (above)", path)
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

// TestReadOnlyHelpers is of what piton starts itself as, and of placements that take a right of
// root, with the mode in the environment.
func TestReadOnlyHelpers(t *testing.T) {
	h := newHome(t)
	for _, args := range []string{orderVerb, guard.Verb, guard.Verb + " x", tunecmd.SweeperVerb + " / x", tunecmd.SweeperChild + " / x", tunecmd.SpinVerb + " 1"} {
		h.env = append(h.env, "PITON_READONLY=1")
		r := h.run(strings.Fields(args)...)
		assert.Equal(t, exit.NotPermitted, r.code, args)
		assert.Equal(t, "piton: piton is in read-only mode and changes nothing (--readonly, PITON_READONLY)\n", r.err, args)
		assert.Empty(t, r.out, args)
		h.env = append(h.env, "PITON_READONLY=x")
		assert.Equal(t, exit.Usage, h.run(strings.Fields(args)...).code, args)
	}
	h.env = append(h.env, "PITON_READONLY=")
	for _, place := range []string{"fifo:10", "rr:1", "nice:-1", "aggregate", "least-loaded+fifo:10"} {
		r := h.run("bench", "--readonly", "nqueens", "-n", "4", "--runs", "1", "--place", "normal", "--place", place)
		assert.Equal(t, exit.NotPermitted, r.code, "%s: %s", place, r.err)
		assert.Contains(t, r.err, "--place "+place+": piton is in read-only mode")
		assert.Empty(t, r.out)
	}
	r := h.run("bench", "--readonly", "nqueens", "-n", "4", "--runs", "1", "--warmup", "0", "--place", "normal", "--place", "batch")
	assert.Zero(t, r.code, r.err)
	r = h.run("bench", "attach", fmt.Sprint(sleeper(t)), "--readonly", "--place", "normal", "--runs", "1")
	assert.Equal(t, exit.NotPermitted, r.code, r.err)
}

// writeSides are the places that take the write side of the kernel, and why read-only mode
// does not come there.
var writeSides = map[string]string{
	"bench/runner/run.go":           "holds a process that is measured, and writes nothing",
	"change/attr/machine.go":        "reads",
	"change/guard/main.go":          "a guard, which Main refuses",
	"change/transient.go":           "cgroups of piton run, which is not there, and of its sweeper, which Main refuses",
	"change/tuner.go":               "change.Local",
	"cli/app/tuner.go":              "looks at ReadOnly",
	"cli/autocmd/auto.go":           "a command that is not there",
	"cli/benchcmd/bench.go":         "processes of the benchmark alone, by unprivileged placements",
	"cli/tunecmd/rescue.go":         "a command that is not there",
	"cli/tunecmd/run.go":            "a command that is not there",
	"cli/watchcmd/doctor_rights.go": "reads",
	"rules/daemon/instance.go":      "piton rules stop, which is not there",
}

// TestWriteSidesAreKnown finds every call that makes one.
func TestWriteSidesAreKnown(t *testing.T) {
	found := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(filepath.Dir(path), "test") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, maker := range []string{"SystemWriter()", "SystemFiles()", "change.Local()"} {
			if strings.Contains(string(text), maker) && !strings.HasPrefix(path, "../kernel/") {
				found[strings.TrimPrefix(path, "../")] = true
			}
		}
		return err
	})
	require.NoError(t, err)
	for path := range found {
		assert.Contains(t, writeSides, path, "%s makes a write side", path)
	}
	for path := range writeSides {
		assert.True(t, found[path], "%s makes none any more", path)
	}
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
