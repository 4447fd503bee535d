package tunecmd

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cli/app"
	"piton/internal/kernel"
	"piton/internal/rescue"
)

func TestRescueAnswers(t *testing.T) {
	tasks := []rescue.Task{
		{PID: 30, TID: 30, Comm: "spin", Share: 0.9}, {PID: 20, TID: 20, Comm: "irq/9-nic", Share: 0.5, Kernel: true},
		{PID: 30, TID: 31, Comm: "next", Waiting: true}, {PID: 40, TID: 40, Comm: "asleep"},
	}
	for _, c := range []struct {
		words string
		yes   bool
		want  []kernel.TID
		err   string
	}{
		{words: "all", want: []kernel.TID{30, 31}},
		{words: "all", yes: true, want: []kernel.TID{30, 31}},
		{words: "3", want: []kernel.TID{31}},
		{words: "1", want: []kernel.TID{30}},
		{words: "3 1", want: []kernel.TID{31, 30}},
		{words: "2", err: "kernel thread"},
		{words: "2 3", yes: true, want: []kernel.TID{20, 31}},
		{words: "4", err: "no number"},
		{words: "0", err: "no number"},
		{words: "01", err: "no number"},
		{words: "5", err: "no number"},
		{words: "x", err: "no number"},
	} {
		r := newRescuer(&app.App{IO: app.IO{In: strings.NewReader("")}}, rescueOptions{yes: c.yes})
		got, err := r.pick(tasks, strings.Fields(c.words))
		if c.err != "" {
			assert.ErrorContains(t, err, c.err, c.words)
			continue
		}
		require.NoError(t, err, c.words)
		var tids []kernel.TID
		for _, k := range got {
			tids = append(tids, k.TID)
		}
		assert.Equal(t, c.want, tids, c.words)
	}
}
