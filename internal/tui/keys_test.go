package tui

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/action"
	"piton/internal/kernel"
	"piton/internal/sample"
	"piton/internal/tui/corepanel"
	"piton/internal/tui/meters"
	"piton/internal/tui/proctable"
)

func mustSpec(t *testing.T, id string) *verb {
	t.Helper()
	s := table().byID(id)
	require.NotNil(t, s, id)
	return s
}

// tickRun is tick, with what comes of it run.
func (r *rig) tickRun() {
	r.sampler.out <- r.machine.Tick()
	r.run(r.m.wait(r.last))
	r.last = r.m.model
}

func TestSortKeys(t *testing.T) {
	onSmall(t, func(r *rig) {
		for key, id := range map[string]string{"P": "cpu_percent", "M": "mem_percent", "T": "time_s", "N": "pid", "B": "migrations_per_s"} {
			r.press(key)
			v := r.m.procs.View()
			assert.Equal(t, id, v.Sort.ID, key)
			assert.Equal(t, v.Sort.Desc, v.Desc)
			r.press("I")
			assert.NotEqual(t, v.Desc, r.m.procs.View().Desc)
		}
		r.press("f6", "u", "s", "e", "r", "enter")
		assert.Equal(t, "user", r.m.procs.View().Sort.ID)
	})
}

func TestShowKeys(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("K")
		assert.True(t, r.m.procs.View().Kernel)
		r.press("f5")
		assert.Equal(t, proctable.ByParent, r.m.procs.View().Tree)
		r.press("F")
		assert.True(t, r.m.procs.Following())
		assert.Contains(t, r.text(), "kernel  tree  follow")
		r.press("#")
		assert.Equal(t, corepanel.Folded, r.m.chooser.mode)
		r.press("#", "#")
		assert.Equal(t, corepanel.Full, r.m.chooser.mode)
		r.press("ctrl+o")
		assert.Contains(t, r.text(), "a sample took")
	})
}

func TestPause(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("Z")
		assert.Contains(t, r.line(0), "paused")
		r.machine.Proc(3641).Busy = 0
		before := r.line(8)
		r.tick()
		assert.Equal(t, before, r.line(8))
		r.press("Z")
		r.tick()
		assert.NotEqual(t, before, r.line(8))
	})
}

func TestSearch(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("/", "s", "s")
		assert.Equal(t, kernel.TID(612), r.selected(), "while typing")
		r.press("x")
		assert.Contains(t, r.line(-1), "no match in the list")
		r.press("backspace", "backspace", "backspace", "/", "enter")
		first := r.selected()
		r.press("f3")
		assert.NotEqual(t, first, r.selected(), "the same key finds the next")
		r.press("/", "s", "s", "esc")
		assert.NotEqual(t, kernel.TID(612), r.selected(), "Esc goes back to where it was")
	})
}

func TestFilter(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("f4", "n", "q")
		assert.Equal(t, 1, r.m.procs.Len(), "while typing")
		r.press("enter")
		assert.Contains(t, r.text(), "filter nq")
		r.press("\\", "esc")
		assert.Equal(t, 1, r.m.procs.Len(), "Esc in the prompt keeps the filter there was")
		r.press("esc")
		assert.Equal(t, 8, r.m.procs.Len(), "Esc on the list clears it")
		r.press("f4", "c", "p", "u", ">", "enter")
		assert.False(t, r.m.dialogs.Empty(), "a filter that is none is not accepted")
	})
}

func TestUserMenu(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("u", "m", "i", "enter")
		assert.Equal(t, 1, r.m.procs.Len())
		assert.Contains(t, r.text(), "user mika")
		r.press("esc")
		assert.Equal(t, 8, r.m.procs.Len())
	})
}

func TestSearchForAPID(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("/", "1", "2", "0", "4", "enter")
		assert.Equal(t, kernel.TID(1204), r.selected())
		r.press("esc", "/", "9", "8", "0", "enter")
		assert.Equal(t, kernel.TID(980), r.selected())
	})
}

func TestUnknownKeysAreExplained(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("$")
		assert.Contains(t, r.line(-2), "$ is not a key here; → scrolls right (htop: scroll to the end of the line)")
		r.press("@")
		assert.Contains(t, r.line(-2), "@ is not a key here; ? lists the keys, : finds anything")
		r.press("v")
		assert.Contains(t, r.line(-2), "v is a key of Bench: the picture of the results shown, with all notes and conditions")
		r.press("m")
		assert.Equal(t, tea.MouseModeNone, r.m.View().MouseMode)
		r.press("m")
		assert.Equal(t, tea.MouseModeCellMotion, r.m.View().MouseMode)
	})
}

func TestPaletteRunsWhatItFinds(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press(":", "t", "r", "e", "e", "enter")
		assert.Equal(t, proctable.ByParent, r.m.procs.View().Tree)
		r.press("ctrl+p", "i", "n", "v", "e", "r", "t", "enter")
		assert.False(t, r.m.procs.View().Desc)
		r.press(":", "c", "o", "l", "u", "m", "n", ".", "n", "i", "enter")
		assert.Contains(t, r.m.procs.layouts.Present().Columns, "pid", "the columns that were shown stay")
	})
}

func TestContextMenu(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.send(tea.MouseClickMsg{X: 20, Y: r.rowAt("matrix"), Button: tea.MouseRight})
		assert.Contains(t, r.text(), "Actions")
		r.press("p", "i", "n", "enter")
		assert.Equal(t, kernel.TID(3642), r.tuning.targets[0].TID)
	})
}

func TestViews(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("tab")
		assert.Equal(t, action.Cores, r.m.view)
		r.press("5")
		assert.Equal(t, action.Journal, r.m.view)
		r.press("1")
		assert.Equal(t, action.Processes, r.m.view)
		r.press("shift+tab")
		assert.Equal(t, action.Journal, r.m.view)
		r.press("esc")
		assert.Equal(t, action.Processes, r.m.view)
		r.press("b")
		assert.Contains(t, r.text(), "[4 Bench]")
		r.press("n")
		assert.Contains(t, r.text(), "Start a study")
		r.press("esc", "1")
		assert.Contains(t, r.text(), "[1 Processes]")
	})
}

func TestDetail(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("enter")
		assert.Contains(t, r.text(), "cpuset (0-3, set by cgroup /user.slice)")
		assert.True(t, r.sampler.needs.Affinity && r.sampler.needs.IOPrio && r.sampler.needs.Switches)
		r.press("down")
		assert.Contains(t, r.text(), "── ./matrix", "at once")
		assert.Contains(t, r.text(), "3642 R", "its threads are read at once too")
		r.tick()
		assert.Contains(t, r.text(), "── ./matrix")
		r.press("enter", "down")
		assert.Equal(t, kernel.TID(3642), r.selected(), "the keys are the thread list's")
		assert.Equal(t, kernel.TID(3650), r.sampler.needs.Trace, "the chart follows its cursor")
		r.press("I", ">", "p")
		assert.Empty(t, r.tuning.targets, "no key of the process table")
		r.press("enter", "enter", "esc")
		assert.True(t, r.m.procs.detailed)
		r.press("up", "enter")
		assert.False(t, r.m.procs.detailed, "one thread: nothing to go into")
	})
}

func TestFilesAndStrace(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("enter")
		assert.Contains(t, r.text(), "exe        /home/balu/nqueens")
		assert.Contains(t, r.text(), "files      1 open; l lists them")
		r.press("l")
		assert.Contains(t, r.text(), "Open files of 3641")
		assert.Contains(t, r.text(), "3  /tmp/evil?[2J")
		r.press("q")
		t.Setenv("PATH", "")
		r.press("s")
		assert.Contains(t, r.text(), "strace is not installed")
	})
}

func TestSetup(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("f2", "right", "down", "right", "down", "down", "right", "enter")
		require.Len(t, r.settings.saved, 1)
		assert.Equal(t, []string{"tasks", "uptime"}, r.settings.saved[0].Meters[:2])
		assert.Contains(t, r.line(0), "web-07   10 tasks 15 thr  2 run   up 12d")
		assert.Contains(t, r.line(1), "migrations", "meters that were chosen have a second line")
		assert.Equal(t, 2*time.Second, r.settings.saved[0].Interval)
		assert.Equal(t, 2*time.Second, r.sampler.interval)
		assert.Equal(t, "folded", r.settings.saved[0].Panel)
		assert.Contains(t, r.line(-2), "settings kept")
		r.settings.err = assert.AnError
		r.press("f2", "enter")
		assert.Contains(t, r.line(-2), "not saved")
	})
}

func TestNeedsFollowWhatIsShown(t *testing.T) {
	on(t, 8, 120, 24, func(r *rig) {
		r.machine.Crowd(200)
		r.tick()
		r.press("home")
		assert.True(t, r.sampler.needs.Migrations)
		assert.False(t, r.sampler.needs.Switches, "no visible column needs them")
		assert.False(t, r.sampler.needs.All)
		assert.True(t, r.sampler.watches(3641))
		assert.False(t, r.sampler.watches(10199))
		r.press("end")
		assert.True(t, r.sampler.watches(10199))
		r.press("f6", "v", "c", "s", "w", "/", "enter")
		assert.True(t, r.sampler.needs.All && r.sampler.needs.Switches, "order by a figure needs it of every task")
		r.press("b")
		assert.Equal(t, sample.Needs{PSI: true}, r.sampler.needs, "another view shows no tasks")
	})
}

func TestMouse(t *testing.T) {
	onSmall(t, func(r *rig) {
		at := r.area("list").y
		r.send(tea.MouseClickMsg{X: 5, Y: at + 3, Button: tea.MouseLeft})
		assert.Equal(t, kernel.TID(4000), r.selected())
		r.send(tea.MouseClickMsg{X: 3, Y: at, Button: tea.MouseLeft})
		assert.Equal(t, "pid", r.m.procs.View().Sort.ID)
		r.send(tea.MouseClickMsg{X: 3, Y: at, Button: tea.MouseLeft})
		assert.True(t, r.m.procs.View().Desc, "a second click inverts")
		r.send(tea.MouseWheelMsg{X: 3, Y: at + 2, Button: tea.MouseWheelDown})
		r.send(tea.MouseClickMsg{X: 36, Y: r.area("view").y, Button: tea.MouseLeft})
		assert.Equal(t, action.Bench, r.m.view)
		r.send(tea.MouseClickMsg{X: 1, Y: r.area("key").y, Button: tea.MouseLeft})
		assert.Contains(t, r.text(), "Help")
		r.send(tea.MouseClickMsg{X: 1, Y: r.area("key").y, Button: tea.MouseLeft})
		assert.False(t, r.m.dialogs.Empty(), "clicks beside a dialog do nothing")
	})
}

func TestMouseFilter(t *testing.T) {
	f := MouseFilter()
	assert.Nil(t, f(nil, tea.MouseMotionMsg{}))
	assert.NotNil(t, f(nil, tea.MouseClickMsg{}))
	assert.NotNil(t, f(nil, tea.MouseWheelMsg{}))
	assert.Nil(t, f(nil, tea.MouseWheelMsg{}))
	assert.NotNil(t, f(nil, tea.KeyPressMsg{}))
}

func TestHelpSaysWhyAValueIsMissing(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.machine.Proc(3641).Task.Have &^= sample.HaveAffinity
		r.tick()
		r.press("?")
		assert.Contains(t, r.text(), "in ALLOWED of 3641")
	})
}

func TestSamplingEndIsSaid(t *testing.T) {
	onSmall(t, func(r *rig) {
		close(r.sampler.out)
		r.run(r.m.wait(r.last))
		assert.Contains(t, r.line(-2), "sampling has ended")
	})
}

func TestEveryKeyOnAnEmptyMachineIsHarmless(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.machine.Procs = nil
		r.tick()
		for _, s := range table() {
			for _, k := range s.Keys {
				r.press(k)
				r.press("esc", "esc", "esc")
				r.press("1")
			}
		}
	})
}

func TestDetailIsReadOnlyWhileItIsShown(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("enter")
		assert.NotNil(t, r.m.procs.noteDetail())
		r.press("2")
		assert.Nil(t, r.m.procs.noteDetail(), "another view hides it")
	})
}

// What the first sample could not read is said once, and stays in the help.
func TestFaultsOfTheFirstSample(t *testing.T) {
	onSmall(t, func(r *rig) {
		odd := func() *sample.Sample {
			s := r.machine.Tick()
			s.Collectors = []sample.Collector{{Name: "cpus", Err: errors.New("/proc/stat is made up")}}
			return s
		}
		r.deliver(odd())
		assert.NotContains(t, r.text(), "made up")
		r.m.newest = nil
		r.deliver(odd())
		assert.Contains(t, r.text(), "/proc/stat is made up")
		r.m.clearNotice()
		r.deliver(odd())
		assert.NotContains(t, r.text(), "made up")
		assert.Contains(t, r.m.better(), "/proc/stat is made up")
	})
}

// An odd line that a meter leaves out is said once, and stays in the help.
func TestFaultsOfMeters(t *testing.T) {
	onSmall(t, func(r *rig) {
		root := t.TempDir()
		require.NoError(t, os.MkdirAll(filepath.Join(root, "proc/net"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, "proc/net/dev"), []byte("headings\nheadings\neth0: x\n"), 0o644))
		r.m.deps.Live = meters.NewReader(root)
		now := time.Unix(1000, 0)
		read := func() {
			now = now.Add(time.Second)
			r.m.handle(r.m.deps.Live.Read([]string{"network"}, now)())
		}
		read()
		assert.Contains(t, r.text(), "eth0 is cut or malformed")
		r.m.clearNotice()
		read()
		r.tick()
		assert.NotContains(t, r.text(), "malformed")
		assert.Contains(t, strings.Join(r.m.better(), "\n"), "eth0 is cut or malformed")
	})
}
