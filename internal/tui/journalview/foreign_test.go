package journalview

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change/attr"
	"piton/internal/kernel"
	"piton/internal/watch"
)

// script is a Watcher that tells what it is given.
type script struct {
	settings watch.Settings
	err      error
	closed   int
}

func (s *script) Read() (watch.Settings, error) {
	now := s.settings
	s.settings = watch.Settings{}
	return now, s.err
}

func (s *script) Close() { s.closed++ }

// perform carries out a command and, of those that follow from it, all but the next look.
func perform(v *View, cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case tea.BatchMsg:
		for _, one := range msg {
			perform(v, one)
		}
	case func() tea.Cmd:
		round := v.foreign.watcher
		if next := msg(); round != nil || v.foreign.watcher == nil {
			perform(v, next)
		}
	}
}

func TestChangesByOthersAreListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, w := sample(), &script{}
		v := New(Options{Journal: f, Watch: func() (Watcher, error) { return w, nil }})
		perform(v, v.Open())
		require.Same(t, w, v.foreign.watcher)
		assert.Nil(t, v.watchOthers(), "it is watched already")

		of := func(tid kernel.TID, a attr.Attribute, to string) watch.Setting {
			return watch.Setting{At: kernel.Monotonic(), By: watch.Changer{PID: 1, Comm: "systemd", Unit: "init.scope"},
				Of: attr.Object{PID: 3641, TID: tid, Comm: "nqueens"}, Attribute: a, From: "5", To: to}
		}
		refused, own, itself := of(3642, attr.Affinity, "0-7"), of(3642, attr.Affinity, "0-7"), of(3643, attr.Affinity, "3")
		refused.Errno, own.By.Own, itself.By = syscall.EINVAL, true, watch.Changer{PID: 3641, Comm: "nqueens"}
		w.settings.List = []watch.Setting{of(3642, attr.Affinity, "0-7"), of(3642, attr.Nice, "3"), of(9, attr.Affinity, "0-7"),
			of(3642, attr.Affinity, "5"), refused, own, itself, itself, itself}
		look := v.look(v.foreign.round)
		found, ok := look().(func() tea.Cmd)
		require.True(t, ok)
		found()
		out := text(v, 120, 40)
		at := time.Now().Local().Format(time.TimeOnly)
		assert.Equal(t, 1, strings.Count(out, at+" systemd 1 (init.scope) set affinity of nqueens 3641/3642: 5 → 0-7, as before"), out)
		assert.Equal(t, 1, strings.Count(out, at+" nqueens 3641 set its own affinity: 5 → 3, 3 times: a pin will not hold"), out)
		assert.Equal(t, 2, strings.Count(out, " set "), out)

		perform(v, v.Leave())
		assert.Equal(t, 1, w.closed)
		assert.Nil(t, v.looked(0, map[uint64][]overwrite{3: {{}}}, nil), "of a round that is over")
		assert.Nil(t, v.Leave())
	})
}

func TestChangesByOthersThatCannotBeSeen(t *testing.T) {
	v := New(Options{Journal: sample(), Watch: func() (Watcher, error) { return nil, errors.New("it takes CAP_BPF") }})
	perform(v, v.Open())
	assert.Contains(t, text(v, 120, 40), "changes by others are not seen: it takes CAP_BPF")
	assert.Nil(t, v.Leave())

	w := &script{err: errors.New("broken")}
	v = New(Options{Journal: sample(), Watch: func() (Watcher, error) { return w, nil }})
	open := v.watchOthers()
	assert.Nil(t, v.Leave(), "before it is open")
	perform(v, open)
	assert.Equal(t, 1, w.closed)
}
