package tui

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"piton/internal/action"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/tune"
)

// TestSudoCommands holds the command lines to what the jobs would do.
func TestSudoCommands(t *testing.T) {
	cpus, slice, session := cpuset.Of(2, 3), 3*time.Millisecond, -5
	onPartition(t, 120, 40, func(r *rig, _ *fakePartition) {
		lines := func(p planned) string {
			var all []string
			for _, c := range r.m.sudoCommands(p) {
				all = append(all, strings.Join(c.Args, " "))
			}
			return strings.Join(all, "\n")
		}
		targets := []tune.Target{{TID: 42}}
		settings := tune.Settings{Affinity: &cpus, MemoryFollows: true, Slice: &slice,
			Policy: &tune.PolicySetting{Policy: kernel.Deadline, Runtime: 1e6, Deadline: 5e6, Period: 5e6}}
		p := planned{job: job{targets: targets, want: action.Tuning{Autogroup: &session}},
			plan: tune.Plan{Requests: []tune.Request{{Targets: targets, Settings: settings}}}}
		assert.Equal(t, `sudo piton pin --process --cpu 2-3 --mem -- 42
sudo piton slice --process -- 42 3ms
sudo piton policy --process -- 42 deadline:1ms/5ms/5ms
sudo piton nice --process --autogroup -- 42 -5`, lines(p))

		r.press("alt+3")
		r.tickRun()
		rows := r.m.irqs.Targets()
		moved := requested("move", "", "", nil)
		moved.command = append(irqCommand("move", rows), "--cpu", cpus.String())
		assert.Equal(t, "sudo piton irq move 24 --cpu 2-3", lines(planned{job: moved}))
		assert.Empty(t, lines(planned{job: requested("set", "", "", nil)}), "what no command does is not offered")
	})
}
