package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"

	"piton/internal/action"
)

// changing are the commands that change something. A new command is added here
// or to looking, so that read-only mode is thought of.
var changing = []string{
	"pin", "nice", "policy", "ionice", "slice", "uclamp", "cookie", "run", "isolate", "include", "move", "spread", "undo", "keep", "apply",
	"irq move", "irq spread", "irq reset", "irq default", "rescue",
}

func TestEveryCommandIsKnownToLookOrToChange(t *testing.T) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			path := strings.TrimPrefix(sub.CommandPath(), "piton ")
			parent, _, nested := strings.Cut(path, " ")
			if nested && (parent == "bench" || parent == "completion" || slices.Contains(changing, parent)) {
				continue
			}
			assert.True(t, slices.Contains(looking, path) != slices.Contains(changing, path), "piton %s", path)
			walk(sub)
		}
	}
	walk(newRoot(&app{}))
}

func TestReadOnly(t *testing.T) {
	h := newHome(t)
	for _, verb := range changing {
		words := strings.Fields(verb)
		if c, rest, err := newRoot(&app{}).Find(words); err != nil || len(rest) > 0 || c.Name() != words[len(words)-1] {
			continue // not built yet
		}
		r := h.run(append([]string{"--readonly"}, append(words, "1", "5")...)...)
		assert.Equal(t, ExitUsage, r.code, "%s: %s", verb, r.err)
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
		"--readonly irq list --cpu 0":            "unknown flag: --cpu",
	} {
		r := h.run(strings.Fields(args)...)
		assert.NotZero(t, r.code, args)
		assert.Contains(t, r.err, want, args)
	}
	r := h.run("--readonly", "sysctl", "vm.swappiness=1")
	assert.Equal(t, ExitNotPermitted, r.code)
	assert.Contains(t, r.err, "read-only mode")
	r = h.run("--readonly", "--help")
	assert.Zero(t, r.code)
	assert.Contains(t, r.out, "watch")
	assert.NotContains(t, r.out, "  pin ")
	assert.NotContains(t, r.out, "--policy")
	assert.NotContains(t, r.out, "--pin")
	r = h.run("--readonly", "help", "keys")
	assert.NotContains(t, r.out, "[piton pin]")
	assert.Contains(t, r.out, "quit")
	r = h.run("--readonly", "topo")
	assert.Zero(t, r.code)

	h.env = append(h.env, "PITON_READONLY=1")
	r = h.run("nice", "1", "5")
	assert.Equal(t, ExitUsage, r.code)
	assert.Contains(t, r.err, "read-only mode")
	h.env = append(h.env, "PITON_READONLY=0")
	r = h.run("nice", "2147483647", "5")
	assert.Contains(t, r.err, "no process or thread")
}

func TestNoKeyChangesAnythingInReadOnlyMode(t *testing.T) {
	verbs := action.Looking()
	assert.NotEmpty(t, verbs)
	for _, s := range verbs {
		assert.False(t, s.Mutates, s.ID)
	}
	assert.Less(t, len(verbs), len(action.Specs))
}
