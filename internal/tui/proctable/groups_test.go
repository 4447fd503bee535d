package proctable

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/field"
	"piton/internal/kernel"
)

// inGroups shows a machine whose processes are in control groups.
func inGroups(t *testing.T) *shown {
	s := show(t)
	for pid, cgroup := range map[kernel.TID]string{980: "/system.slice/pg.service", 612: "/system.slice/ssh.service",
		1204: "/user.slice/session-1.scope", 3641: "/user.slice/session-1.scope", 3642: "/user.slice/session-1.scope/deep"} {
		id := *s.machine.Proc(pid).Task.ID
		id.Cgroup = cgroup
		s.machine.Proc(pid).Task.ID = &id
	}
	s.change(func(v *View) { v.Tree = ByGroup })
	s.tick(1)
	return s
}

func (s *shown) commands() (out []string) {
	for i := range s.Len() {
		out = append(out, field.Cell("comm", s.Row(i)))
	}
	return out
}

func TestGroups(t *testing.T) {
	s := inGroups(t)
	assert.Equal(t, []string{"session-1.scope", "nqueens", "deep", "matrix", "bash", "/", "jackd", "systemd", "evil?[31m) (x",
		"system.slice", "pg.service", "postgres", "ssh.service", "sshd"}, s.commands(), "siblings by CPU%; user.slice has one child")
	group := s.Row(0)
	assert.True(t, group.Sum())
	for id, want := range map[string]string{"pid": field.None, "cpu": field.None, "state": field.None, "start": field.None, "user": "balu",
		"threads": "6", "cpu_percent": "154.0", "nice": "0", "affinity": "0-7", "cgroup": "/user.slice/session-1.scope"} {
		assert.Equal(t, want, field.Cell(id, group), id)
	}
	s.Home()
	_, ok := s.Process()
	assert.False(t, ok)
	assert.Equal(t, "session-1.scope, 3 processes", s.Named())
	assert.Len(t, s.Targets(), 3)
	s.ToggleFold()
	assert.Equal(t, "/", s.commands()[1])
	assert.Contains(t, s.text(), "+ session-1.")
	s.ToggleTag()
	s.tick(1)
	assert.Equal(t, 1, s.Tags(), "a tag stays on its group")
	assert.Len(t, s.Targets(), 3)
	s.change(func(v *View) { v.Filter, _ = field.ParseFilter("sshd") })
	assert.Equal(t, []string{"ssh.service", "sshd"}, s.commands())
}

func TestFoldedRowShowsItsSums(t *testing.T) {
	s := show(t)
	s.change(func(v *View) { v.Tree = ByParent })
	require.True(t, s.Select(1204))
	s.ToggleFold()
	require.True(t, s.Select(1204))
	shown, _ := s.List.Selected()
	assert.Equal(t, "154.0", field.Cell("cpu_percent", s.row(shown)))
	own, _ := s.Selected()
	assert.Equal(t, "0.0", field.Cell("cpu_percent", own), "actions and the detail pane have its own")
	assert.Len(t, s.Targets(), 1)
}
